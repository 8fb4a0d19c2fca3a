// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checks/catalogue.hpp"
#include "tests/checks/ask.hpp"
#include "tests/checks/gpu/gpu_node.hpp"
#include "tests/support/printers.hpp"

namespace muster::gpu_recovery_action_test {
namespace {

using ::testing::ElementsAre;

Findings judge(const Snapshot& snapshot, const Profile& profile = gpu_node::profile()) {
  Findings findings = ask(checks::gpu_recovery_action::check, snapshot, profile);
  for (auto& finding : findings) finding.seen_by.clear();
  return findings;
}

TEST(GpuRecoveryActionTest, PassesWhereNoneIsCalledFor) {
  EXPECT_THAT(judge(gpu_node::node()), ElementsAre(passes()));
}

TEST(GpuRecoveryActionTest, FailsWithTheRemedyThatTheDriverAsksFor) {
  Snapshot node = gpu_node::bare_metal();
  gpu_node::gpu(node, 0).recovery_action = 1U;
  gpu_node::gpu(node, 1).recovery_action = 2U;
  EXPECT_THAT(judge(node), ElementsAre(Expected{.device = "gpu0",
                                                .outcome = Outcome::fail,
                                                .observed = std::int64_t{1},
                                                .limit = std::int64_t{0},
                                                .remedy = Remedy::reset_gpu,
                                                .category = "Resource.Hpc.Reset"},
                                       Expected{.device = "gpu1",
                                                .outcome = Outcome::fail,
                                                .observed = std::int64_t{2},
                                                .limit = std::int64_t{0},
                                                .remedy = Remedy::reboot,
                                                .category = "Resource.Hpc.Reboot"}));
}

TEST(GpuRecoveryActionTest, AnUnknownActionIsNoneOfTheHarmlessOnes) {
  Snapshot node = gpu_node::node();
  gpu_node::gpu(node, 0).recovery_action = 42U;
  EXPECT_EQ(judge(node).front().outcome, Outcome::fail);
}

TEST(GpuRecoveryActionTest, AGpuThatAsksForAResetInAnotherCallFails) {
  Snapshot node = gpu_node::node();
  gpu_node::gpu(node, 0).troubles = {"nvmlDeviceGetMemoryInfo: GPU requires reset (16)"};
  EXPECT_EQ(judge(node).front(), fails("gpu0", Remedy::reboot));
}

}  // namespace
}  // namespace muster::gpu_recovery_action_test
