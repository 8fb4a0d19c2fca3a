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
  EXPECT_THAT(judge(node), ElementsAre(passes()));
}

TEST(GpuEccCorrectedTest, WarnsAboveThem) {
  Snapshot node = gpu_node::node();
  gpu_node::gpu(node, 0).ecc_aggregate.dram_corrected = 1001U;
  gpu_node::gpu(node, 1).ecc_aggregate.sram_corrected = 11U;
  EXPECT_THAT(
      judge(node),
      ElementsAre(warns("gpu0", Remedy::watch, {std::int64_t{1001}, std::int64_t{1000}, "errors"}),
                  warns("gpu1", Remedy::watch, {std::int64_t{11}, std::int64_t{10}, "errors"})));
}

TEST(GpuEccCorrectedTest, WithoutLimitsNothingIsJudged) {
  EXPECT_EQ(judge(gpu_node::node(), Profile{}).front().outcome, Outcome::skip);
}

TEST(GpuEccCorrectedTest, AGpuThatCountsNothingIsSkippedUnlessOthersOfItsModelCount) {
  Snapshot node = gpu_node::node();
  gpu_node::gpu(node, 1).ecc_aggregate = {};
  EXPECT_EQ(judge(node).front(), (unknown("gpu1")));
  gpu_node::gpu(node, 0).ecc_aggregate = {};
  EXPECT_EQ(judge(node).front().outcome, Outcome::skip);
}

}  // namespace
}  // namespace muster::gpu_ecc_corrected_test
