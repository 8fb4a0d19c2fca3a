// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>

#include "checks/catalogue.hpp"
#include "tests/checks/ask.hpp"
#include "tests/checks/gpu/gpu_node.hpp"
#include "tests/support/printers.hpp"

namespace muster::gpu_ecc_sram_test {
namespace {

using ::testing::ElementsAre;

Findings judge(const Snapshot& snapshot, const Profile& profile = gpu_node::profile()) {
  return ask(checks::gpu_ecc_sram::check, snapshot, profile);
}

TEST(GpuEccSramTest, PassesWithoutErrors) {
  EXPECT_THAT(judge(gpu_node::node()),
              ElementsAre(gpu_node::well("without uncorrected SRAM errors")));
}

TEST(GpuEccSramTest, AFewErrorsAreWatched) {
  Snapshot node = gpu_node::node();
  gpu_node::gpu(node, 0).sram->unique_uncorrected = 3;
  EXPECT_EQ(
      judge(node).front(),
      (Finding{.device = "gpu0",
               .outcome = Outcome::warn,
               .message = "3 uncorrected errors in the SRAMs over its life (serial 165092300)",
               .observed = std::int64_t{3},
               .limit = std::int64_t{0},
               .unit = "errors",
               .remedy = Remedy::watch}));
}

TEST(GpuEccSramTest, TheDriversFlagCallsForReplacementAndNoNumberDoes) {
  Snapshot node = gpu_node::bare_metal();
  gpu_node::gpu(node, 0).sram->unique_uncorrected = 40;
  gpu_node::gpu(node, 1).sram->threshold_exceeded = true;
  const auto findings = judge(node);
  EXPECT_THAT(
      findings,
      ElementsAre(
          Finding{.device = "gpu0",
                  .outcome = Outcome::warn,
                  .message = "40 uncorrected errors in the SRAMs over its life (serial 165092300)",
                  .observed = std::int64_t{40},
                  .limit = std::int64_t{0},
                  .unit = "errors",
                  .remedy = Remedy::watch},
          Finding{.device = "gpu1",
                  .outcome = Outcome::fail,
                  .message = "0 uncorrected errors in the SRAMs over its life; the driver's "
                             "threshold is exceeded (serial 165092301)",
                  .observed = std::int64_t{0},
                  .limit = std::int64_t{0},
                  .unit = "errors",
                  .remedy = Remedy::reseat_or_replace}));
}

TEST(GpuEccSramTest, AnOlderDriversAggregateCounterServesToo) {
  Snapshot node = gpu_node::node();
  gpu_node::gpu(node, 0).sram = Fact<GpuSram>::absent("no such call");
  gpu_node::gpu(node, 0).ecc_aggregate.sram_uncorrected = 1U;
  EXPECT_EQ(judge(node).front().outcome, Outcome::warn);
}

TEST(GpuEccSramTest, AGpuThatTellsNothingIsSkippedOnlyWhereNoneOfItsModelTells) {
  Snapshot node = gpu_node::node();
  gpu_node::gpu(node, 1).sram = Fact<GpuSram>::absent("no such call");
  gpu_node::gpu(node, 1).ecc_aggregate.sram_uncorrected =
      Fact<std::uint64_t>::absent("not supported");
  EXPECT_EQ(judge(node).front(),
            (Finding{.device = "gpu1",
                     .outcome = Outcome::unknown,
                     .message = "the state of the SRAMs is not known: no such call; 1 GPU of the "
                                "same model tells it"}));
  gpu_node::gpu(node, 0).sram = gpu_node::gpu(node, 1).sram;
  EXPECT_EQ(judge(node).front().outcome, Outcome::unknown) << "the other has the counter";
  gpu_node::gpu(node, 1).modes.mig = true;
  EXPECT_EQ(judge(node).front().outcome, Outcome::skip) << "MIG hides it";
  gpu_node::gpu(node, 1).modes.mig = false;
  gpu_node::gpu(node, 0).ecc_aggregate = gpu_node::gpu(node, 1).ecc_aggregate;
  EXPECT_EQ(judge(node).front().outcome, Outcome::skip);
}

TEST(GpuEccSramTest, ACounterThatCannotBeReadIsUnknown) {
  Snapshot node = gpu_node::node();
  gpu_node::gpu(node, 0).sram = Fact<GpuSram>::absent("no such call");
  gpu_node::gpu(node, 0).ecc_aggregate.sram_uncorrected =
      Fact<std::uint64_t>::unreadable("unknown error");
  EXPECT_EQ(judge(node).front(),
            (Finding{.device = "gpu0",
                     .outcome = Outcome::unknown,
                     .message = "the state of the SRAMs is not known: unknown error"}));
}

}  // namespace
}  // namespace muster::gpu_ecc_sram_test
