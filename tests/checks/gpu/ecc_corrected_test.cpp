// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checks/catalogue.hpp"
#include "tests/checks/ask.hpp"
#include "tests/checks/gpu/gpu_node.hpp"
#include "tests/support/printers.hpp"

namespace muster::gpu_ecc_corrected_test {
namespace {

using ::testing::ElementsAre;

Findings judge(const Snapshot& snapshot, const Profile& profile = gpu_node::profile()) {
  return ask(checks::gpu_ecc_corrected::check, snapshot, profile);
}

TEST(GpuEccCorrectedTest, PassesBelowTheLimits) {
  Snapshot node = gpu_node::node();
  gpu_node::gpu(node, 0).ecc_aggregate.dram_corrected = 1000U;
  EXPECT_THAT(judge(node), ElementsAre(gpu_node::well("with few corrected memory errors")));
}

TEST(GpuEccCorrectedTest, WarnsAboveThem) {
  Snapshot node = gpu_node::node();
  gpu_node::gpu(node, 0).ecc_aggregate.dram_corrected = 1001U;
  gpu_node::gpu(node, 1).ecc_aggregate.sram_corrected = 11U;
  EXPECT_THAT(judge(node),
              ElementsAre(Finding{.device = "gpu0",
                                  .outcome = Outcome::warn,
                                  .message = "1001 corrected errors in DRAM over its life, more "
                                             "than 1000 (serial 165092300)",
                                  .observed = std::int64_t{1001},
                                  .limit = std::int64_t{1000},
                                  .unit = "errors",
                                  .remedy = Remedy::watch},
                          Finding{.device = "gpu1",
                                  .outcome = Outcome::warn,
                                  .message = "11 corrected errors in SRAM over its life, more "
                                             "than 10 (serial 165092301)",
                                  .observed = std::int64_t{11},
                                  .limit = std::int64_t{10},
                                  .unit = "errors",
                                  .remedy = Remedy::watch}));
}

TEST(GpuEccCorrectedTest, WithoutLimitsNothingIsJudged) {
  EXPECT_EQ(judge(gpu_node::node(), Profile{}).front().outcome, Outcome::skip);
}

TEST(GpuEccCorrectedTest, AGpuThatCountsNothingIsSkippedUnlessOthersOfItsModelCount) {
  Snapshot node = gpu_node::node();
  gpu_node::gpu(node, 1).ecc_aggregate = {};
  EXPECT_EQ(judge(node).front(),
            (Finding{.device = "gpu1",
                     .outcome = Outcome::unknown,
                     .message = "the count of corrected errors is not known: not observed; 1 GPU "
                                "of the same model tells it"}));
  gpu_node::gpu(node, 0).ecc_aggregate = {};
  EXPECT_EQ(judge(node).front().outcome, Outcome::skip);
}

}  // namespace
}  // namespace muster::gpu_ecc_corrected_test
