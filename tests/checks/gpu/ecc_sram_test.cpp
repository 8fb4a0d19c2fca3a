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
  EXPECT_THAT(judge(gpu_node::node()), ElementsAre(passes()));
}

TEST(GpuEccSramTest, AFewErrorsAreWatched) {
  Snapshot node = gpu_node::node();
  gpu_node::gpu(node, 0).sram->unique_uncorrected = 3;
  EXPECT_EQ(judge(node).front(),
            (warns("gpu0", Remedy::watch, {std::int64_t{3}, std::int64_t{0}, "errors"})));
}

TEST(GpuEccSramTest, TheDriversFlagCallsForReplacementAndNoNumberDoes) {
  Snapshot node = gpu_node::bare_metal();
  gpu_node::gpu(node, 0).sram->unique_uncorrected = 40;
  gpu_node::gpu(node, 1).sram->threshold_exceeded = true;
  const auto findings = judge(node);
  EXPECT_THAT(
      findings,
      ElementsAre(
          warns("gpu0", Remedy::watch, {std::int64_t{40}, std::int64_t{0}, "errors"}),
          fails("gpu1", Remedy::reseat_or_replace, {std::int64_t{0}, std::int64_t{0}, "errors"})));
}

TEST(GpuEccSramTest, AnOlderDriversAggregateCounterServesToo) {
  Snapshot node = gpu_node::node();
  gpu_node::gpu(node, 0).sram = Fact<GpuSram>::absent("no such call");
  gpu_node::gpu(node, 0).ecc_aggregate.sram_uncorrected = 1U;
  EXPECT_EQ(judge(node).front().outcome, Outcome::warn);
}

TEST(GpuEccSramTest, AMissingFactIsSkippedOnlyIfNoSisterReportsIt) {
  Snapshot node = gpu_node::node();
  gpu_node::gpu(node, 1).sram = Fact<GpuSram>::absent("no such call");
  gpu_node::gpu(node, 1).ecc_aggregate.sram_uncorrected =
      Fact<std::uint64_t>::absent("not supported");
  EXPECT_EQ(judge(node).front(), (unknown("gpu1")));
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
  EXPECT_EQ(judge(node).front(), (unknown("gpu0")));
}

}  // namespace
}  // namespace muster::gpu_ecc_sram_test
