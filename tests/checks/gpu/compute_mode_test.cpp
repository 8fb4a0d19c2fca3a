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

Finding wrong(const std::string& mode, const std::string& expected) {
  return {.device = "gpu0",
          .outcome = Outcome::fail,
          .message =
              fmt::format("the compute mode is {}, expected {} (serial 165092300)", mode, expected),
          .observed = mode,
          .limit = expected,
          .remedy = Remedy::fix_config};
}

TEST(GpuComputeModeTest, PassesTheExpectedMode) {
  EXPECT_THAT(judge(linked_node::node()), ElementsAre(gpu_node::well("in compute mode default")));
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

TEST(GpuComputeModeTest, SaysWhatIsNotKnown) {
  Snapshot node = linked_node::node();
  gpu_node::gpu(node, 0).modes.compute = Fact<unsigned>::unreadable("Unknown Error (999)");
  gpu_node::gpu(node, 1).modes.compute = Fact<unsigned>::absent("Not Supported (3)");
  EXPECT_THAT(judge(node),
              ElementsAre(Finding{.device = "gpu0",
                                  .outcome = Outcome::unknown,
                                  .message = "the compute mode is not known: Unknown Error (999)"},
                          Finding{.device = "gpu1",
                                  .outcome = Outcome::skip,
                                  .message = "the compute mode is not known: Not Supported (3)"}));
}

TEST(GpuComputeModeTest, WhereNoneIsExpectedAllAreToBeInTheSameAndUsable) {
  Snapshot node = linked_node::node();
  for (auto& gpu : node.nvml->gpus) gpu.modes.compute = 3U;
  EXPECT_THAT(judge(node, Profile{}),
              ElementsAre(gpu_node::well("in compute mode exclusive_process")));
  gpu_node::gpu(node, 0).modes.compute = 0U;
  EXPECT_EQ(judge(node, Profile{}).front().device, "gpu1");
  EXPECT_EQ(judge(node, Profile{}).front().message,
            "the compute mode is exclusive_process, and default on other GPUs (serial 165092301)");
  for (auto& gpu : node.nvml->gpus) gpu.modes.compute = 2U;
  EXPECT_EQ(judge(node, Profile{}).front().message,
            "the compute mode is prohibited: no program can use it (serial 165092300)");
}

}  // namespace
}  // namespace muster::gpu_compute_mode_test
