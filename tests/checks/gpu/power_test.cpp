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
  EXPECT_THAT(judge(gpu_node::node()), ElementsAre(passes()));
}

TEST(GpuPowerTest, WarnsOfALoweredOne) {
  Snapshot node = gpu_node::node();
  gpu_node::gpu(node, 0).power.enforced_mw = 500000U;
  EXPECT_EQ(judge(node).front(), (warns("gpu0", Remedy::fix_config, {500.0, 700.0, "W"})));
}

TEST(GpuPowerTest, WithoutAnExpectationTheDefaultCounts) {
  Snapshot node = gpu_node::node();
  gpu_node::gpu(node, 0).power.enforced_mw = 500000U;
  EXPECT_EQ(judge(node, Profile{}).front(), warns("gpu0", Remedy::fix_config, {500.0, 700.0, "W"}));
}

TEST(GpuPowerTest, ALimitThatAllGpusShareIsTheSites) {
  Snapshot node = gpu_node::node();
  for (auto& gpu : node.nvml->gpus) {
    gpu.power.enforced_mw = 500000U;
    gpu.power.set_mw = 500000U;
  }
  EXPECT_THAT(judge(node, Profile{}), ElementsAre(passes()));
  EXPECT_EQ(judge(node).front().outcome, Outcome::warn);
  // Lowered without setting it.
  gpu_node::gpu(node, 1).power.set_mw = 700000U;
  EXPECT_EQ(judge(node, Profile{}).size(), 2U);
}

}  // namespace
}  // namespace muster::gpu_power_test
