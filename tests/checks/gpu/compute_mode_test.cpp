// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checks/catalogue.hpp"
#include "lib/profile/limits/gpu.hpp"
#include "tests/checks/ask.hpp"
#include "tests/checks/gpu/linked_node.hpp"
#include "tests/support/printers.hpp"

namespace muster::gpu_compute_mode_test {
namespace {

using ::testing::ElementsAre;

Findings judge(const Snapshot& snapshot, const Profile& profile = linked_node::profile()) {
  return ask(checks::gpu_compute_mode::check, snapshot, profile);
}

Expected wrong(const std::string& mode, const std::string& expected) {
  return {.device = "gpu0",
          .outcome = Outcome::fail,
          .observed = mode,
          .limit = expected,
          .remedy = Remedy::fix_config};
}

TEST(GpuComputeModeTest, PassesTheExpectedMode) {
  EXPECT_THAT(judge(linked_node::node()), ElementsAre(passes()));
}

TEST(GpuComputeModeTest, FailsAnyOther) {
  for (const auto& [mode, word] :
       {std::pair(1U, "exclusive_thread"), std::pair(2U, "prohibited"),
        std::pair(3U, "exclusive_process"), std::pair(4U, "4, which this muster does not know")}) {
    Snapshot node = linked_node::node();
    gpu_node::gpu(node, 0).modes.compute = mode;
    EXPECT_EQ(judge(node).front(), wrong(word, "default"));
  }
}

TEST(GpuComputeModeTest, ASiteMayExpectAnotherMode) {
  Profile profile = linked_node::profile();
  profile.gpu->compute_mode.expected = ComputeMode::exclusive_process;
  Snapshot node = linked_node::node();
  gpu_node::gpu(node, 1).modes.compute = 3U;
  EXPECT_EQ(judge(node, profile).front(), wrong("default", "exclusive_process"));
}

TEST(GpuComputeModeTest, IsUnknownForUnknownFacts) {
  Snapshot node = linked_node::node();
  gpu_node::gpu(node, 0).modes.compute = Fact<unsigned>::unreadable("Unknown Error (999)");
  gpu_node::gpu(node, 1).modes.compute = Fact<unsigned>::absent("Not Supported (3)");
  EXPECT_THAT(judge(node), ElementsAre(unknown("gpu0"), skips("gpu1")));
}

TEST(GpuComputeModeTest, WhereNoneIsExpectedAllAreToBeInTheSameAndUsable) {
  Snapshot node = linked_node::node();
  for (auto& gpu : node.nvml->gpus) gpu.modes.compute = 3U;
  EXPECT_THAT(judge(node, Profile{}), ElementsAre(passes()));
  gpu_node::gpu(node, 0).modes.compute = 0U;
  EXPECT_EQ(judge(node, Profile{}).front().device, "gpu1");
  EXPECT_EQ(judge(node, Profile{}).front(),
            fails("gpu1", Remedy::fix_config, {"exclusive_process", "default"}));
  for (auto& gpu : node.nvml->gpus) gpu.modes.compute = 2U;
  EXPECT_EQ(judge(node, Profile{}).front(),
            fails("gpu0", Remedy::fix_config, {"prohibited", "default"}));
}

}  // namespace
}  // namespace muster::gpu_compute_mode_test
