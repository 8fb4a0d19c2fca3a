// SPDX-License-Identifier: Apache-2.0
// The modes of GPUs: ECC, MIG, persistence and compute mode.
#include "tests/checks/ask.hpp"
#include "tests/checks/gpu/gpu_node.hpp"
#include "tests/checks/gpu/linked_node.hpp"

namespace muster::gpu_compute_mode_test {
namespace {

constexpr AskedCheck judge{checks::gpu_compute_mode::check, linked_node::profile};

Expected wrong(const std::string& mode, const std::string& expected) {
  return fails("gpu0", Remedy::fix_config, {mode, expected});
}

TEST(GpuComputeModeTest, FailsAnyOther) {
  for (const auto& [mode, word] :
       {std::pair(1U, "exclusive_thread"), std::pair(2U, "prohibited"),
        std::pair(3U, "exclusive_process"), std::pair(4U, "4 (unknown)")}) {
    Snapshot node = linked_node::node();
    gpu_of(node, 0).modes.compute = mode;
    EXPECT_EQ(judge(node).front(), wrong(word, "default"));
  }
}

TEST(GpuComputeModeTest, ASiteMayExpectAnotherMode) {
  Profile profile = linked_node::profile();
  profile.gpu->compute_mode.expected = ComputeMode::exclusive_process;
  Snapshot node = linked_node::node();
  gpu_of(node, 1).modes.compute = 3U;
  EXPECT_EQ(judge(node, profile).front(), wrong("default", "exclusive_process"));
}

TEST(GpuComputeModeTest, IsUnknownForUnknownFacts) {
  Snapshot node = linked_node::node();
  gpu_of(node, 0).modes.compute = Fact<unsigned>::unreadable("Unknown Error (999)");
  gpu_of(node, 1).modes.compute = Fact<unsigned>::absent("Not Supported (3)");
  EXPECT_THAT(judge(node), ElementsAre(unknown("gpu0"), skips("gpu1")));
}

TEST(GpuComputeModeTest, WithoutAnExpectationAllMustBeInOneUsableMode) {
  Snapshot node = linked_node::node();
  for (auto& gpu : node.nvml->gpus) gpu.modes.compute = 3U;
  EXPECT_THAT(judge(node, Profile{}), ElementsAre(passes()));
  gpu_of(node, 0).modes.compute = 0U;
  EXPECT_EQ(judge(node, Profile{}).front(),
            fails("gpu1", Remedy::fix_config, {"exclusive_process", "default"}));
  for (auto& gpu : node.nvml->gpus) gpu.modes.compute = 2U;
  EXPECT_EQ(judge(node, Profile{}).front(),
            fails("gpu0", Remedy::fix_config, {"prohibited", "default"}));
}

}  // namespace
}  // namespace muster::gpu_compute_mode_test

namespace muster::gpu_ecc_mode_test {
namespace {

TEST(GpuEccModeTest, JudgesEachChange) {
  const std::vector<NodeChange> changes{
      {"skips a GPU that has none",
       [](Snapshot& node) { gpu_of(node, 0).modes.ecc = Fact<bool>::absent("not supported"); },
       {skips("gpu0"), passes()}},
  };
  expect_findings(checks::gpu_ecc_mode::check, gpu_node::node(), gpu_node::profile(), changes);
}

}  // namespace
}  // namespace muster::gpu_ecc_mode_test

namespace muster::gpu_mig_test {
namespace {

TEST(GpuMigTest, JudgesEachChange) {
  const std::vector<NodeChange> changes{
      {"a GPU that cannot be partitioned is not",
       [](Snapshot& node) { gpu_of(node, 0).modes.mig = Fact<bool>::absent("not supported"); },
       {passes()}},
  };
  expect_findings(checks::gpu_mig::check, gpu_node::node(), gpu_node::profile(), changes);
}

}  // namespace
}  // namespace muster::gpu_mig_test

namespace muster::gpu_persistence_test {
namespace {

constexpr AskedCheck judge{checks::gpu_persistence::check, gpu_node::profile};

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
