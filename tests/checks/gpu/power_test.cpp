// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checks/catalogue.hpp"
#include "tests/checks/ask.hpp"
#include "tests/checks/gpu/gpu_node.hpp"
#include "tests/support/printers.hpp"

namespace muster::gpu_power_test {
namespace {

using ::testing::ElementsAre;

Findings judge(const Snapshot& snapshot, const Profile& profile = gpu_node::profile()) {
  return ask(checks::gpu_power::check, snapshot, profile);
}

TEST(GpuPowerTest, PassesAtTheExpectedLimit) {
  EXPECT_THAT(judge(gpu_node::node()),
              ElementsAre(gpu_node::well("at the power limit they should have")));
}

TEST(GpuPowerTest, WarnsOfALoweredOne) {
  Snapshot node = gpu_node::node();
  gpu_node::gpu(node, 0).power.enforced_mw = 500000U;
  EXPECT_EQ(judge(node).front(),
            (Finding{.device = "gpu0",
                     .outcome = Outcome::warn,
                     .message = "the power limit is 500 W, expected 700 W (serial 165092300)",
                     .observed = 500.0,
                     .limit = 700.0,
                     .unit = "W",
                     .remedy = Remedy::fix_config}));
}

TEST(GpuPowerTest, WithoutAnExpectationTheDefaultCounts) {
  Snapshot node = gpu_node::node();
  gpu_node::gpu(node, 0).power.enforced_mw = 500000U;
  EXPECT_EQ(judge(node, Profile{}).front().message,
            "the power limit is 500 W, by default it is 700 W (serial 165092300)");
}

TEST(GpuPowerTest, ALimitThatAllGpusShareIsTheSites) {
  Snapshot node = gpu_node::node();
  for (auto& gpu : node.nvml->gpus) {
    gpu.power.enforced_mw = 500000U;
    gpu.power.set_mw = 500000U;
  }
  EXPECT_THAT(judge(node, Profile{}),
              ElementsAre(gpu_node::well("at the power limit they should have")));
  EXPECT_EQ(judge(node).front().outcome, Outcome::warn);
  // Lowered by something else than whoever set it.
  gpu_node::gpu(node, 1).power.set_mw = 700000U;
  EXPECT_EQ(judge(node, Profile{}).size(), 2U);
}

}  // namespace
}  // namespace muster::gpu_power_test
