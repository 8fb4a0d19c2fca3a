// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checks/catalogue.hpp"
#include "tests/checks/ask.hpp"
#include "tests/checks/gpu/gpu_node.hpp"
#include "tests/support/printers.hpp"

namespace muster::gpu_mig_test {
namespace {

using ::testing::ElementsAre;

Findings judge(const Snapshot& snapshot, const Profile& profile = gpu_node::profile()) {
  return ask(checks::gpu_mig::check, snapshot, profile);
}

TEST(GpuMigTest, PassesWhereItIsOff) {
  EXPECT_THAT(judge(gpu_node::node()), ElementsAre(passes()));
}

TEST(GpuMigTest, AGpuThatCannotBePartitionedIsNot) {
  Snapshot node = gpu_node::node();
  gpu_node::gpu(node, 0).modes.mig = Fact<bool>::absent("not supported");
  EXPECT_THAT(judge(node), ElementsAre(passes()));
}

TEST(GpuMigTest, FailsWhereItIsOn) {
  Snapshot node = gpu_node::node();
  gpu_node::gpu(node, 0).modes.mig = true;
  EXPECT_EQ(judge(node).front(), (fails("gpu0", Remedy::fix_config, {true, false})));
}

}  // namespace
}  // namespace muster::gpu_mig_test
