// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checks/catalogue.hpp"
#include "tests/checks/ask.hpp"
#include "tests/checks/gpu/gpu_node.hpp"
#include "tests/support/printers.hpp"

namespace muster {
namespace {

using ::testing::ElementsAre;

Findings judge(const Snapshot& snapshot, const Profile& profile = gpu_node::profile()) {
  return ask(checks::gpu_persistence, snapshot, profile);
}

TEST(GpuPersistenceTest, PassesWhereItIsOn) {
  EXPECT_THAT(judge(gpu_node::node()), ElementsAre(gpu_node::well("in persistence mode")));
}

TEST(GpuPersistenceTest, WarnsWhereItIsOff) {
  Snapshot node = gpu_node::node();
  gpu_node::gpu(node, 1).modes.persistence = false;
  EXPECT_EQ(judge(node).front(),
            (Finding{.device = "gpu1",
                     .outcome = Outcome::warn,
                     .message = "persistence mode is off (serial 165092301)",
                     .observed = false,
                     .limit = true,
                     .remedy = Remedy::fix_config}));
}

}  // namespace
}  // namespace muster
