// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checks/catalogue.hpp"
#include "tests/checks/ask.hpp"
#include "tests/checks/gpu/gpu_node.hpp"
#include "tests/support/printers.hpp"

namespace muster::gpu_ecc_mode_test {
namespace {

using ::testing::ElementsAre;

Findings judge(const Snapshot& snapshot, const Profile& profile = gpu_node::profile()) {
  return ask(checks::gpu_ecc_mode::check, snapshot, profile);
}

TEST(GpuEccModeTest, PassesWhereEccIsOn) {
  EXPECT_THAT(judge(gpu_node::node()), ElementsAre(passes()));
}

TEST(GpuEccModeTest, FailsWhereItIsOff) {
  Snapshot node = gpu_node::node();
  gpu_node::gpu(node, 1).modes.ecc = false;
  EXPECT_EQ(judge(node).front(), (fails("gpu1", Remedy::fix_config, {false, true})));
}

TEST(GpuEccModeTest, FailsWhereTheNextResetTurnsItOff) {
  Snapshot node = gpu_node::node();
  gpu_node::gpu(node, 0).modes.ecc_pending = false;
  EXPECT_EQ(judge(node).front(), fails("gpu0", Remedy::fix_config, {"on, off after reset", true}));
}

TEST(GpuEccModeTest, SkipsAGpuThatHasNone) {
  Snapshot node = gpu_node::node();
  gpu_node::gpu(node, 0).modes.ecc = Fact<bool>::absent("not supported");
  EXPECT_EQ(judge(node).front(), (skips("gpu0")));
}

}  // namespace
}  // namespace muster::gpu_ecc_mode_test
