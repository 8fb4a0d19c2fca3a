// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checks/catalogue.hpp"
#include "tests/checks/ask.hpp"
#include "tests/checks/gpu/gpu_node.hpp"
#include "tests/support/printers.hpp"

namespace muster::gpu_persistence_test {
namespace {

using ::testing::ElementsAre;

Findings judge(const Snapshot& snapshot, const Profile& profile = gpu_node::profile()) {
  return ask(checks::gpu_persistence::check, snapshot, profile);
}

TEST(GpuPersistenceTest, PassesWhereItIsOn) {
  EXPECT_THAT(judge(gpu_node::node()), ElementsAre(passes()));
}

TEST(GpuPersistenceTest, WarnsWhereItIsOff) {
  Snapshot node = gpu_node::node();
  gpu_node::gpu(node, 1).modes.persistence = false;
  EXPECT_EQ(judge(node).front(), (warns("gpu1", Remedy::fix_config, {false, true})));
}

TEST(GpuPersistenceTest, OffOnAllGpusIsTheSitesChoice) {
  Snapshot node = gpu_node::node();
  for (auto& gpu : node.nvml->gpus) gpu.modes.persistence = false;
  EXPECT_THAT(judge(node), ElementsAre(passes()));
  Profile wanted = gpu_node::profile();
  wanted.gpu->persistence.expected = true;
  EXPECT_EQ(judge(node, wanted).size(), 2U);
  EXPECT_EQ(judge(node, wanted).front().outcome, Outcome::warn);
  wanted.gpu->persistence.expected = false;
  EXPECT_EQ(judge(gpu_node::node(), wanted).front(),
            warns("gpu0", Remedy::fix_config, {true, false}));
}

}  // namespace
}  // namespace muster::gpu_persistence_test
