// SPDX-License-Identifier: Apache-2.0
// The modes of GPUs: ECC, MIG, persistence and compute mode.
#include "tests/checks/ask.hpp"
#include "tests/checks/gpu/linked_node.hpp"

namespace muster::gpu_modes_test {
namespace {

constexpr AskedCheck judge_compute{checks::gpu_compute_mode::check, linked_node::profile};
constexpr AskedCheck judge_ecc{checks::gpu_ecc_mode::check, gpu_node::profile};
constexpr AskedCheck judge_mig{checks::gpu_mig::check, gpu_node::profile};
constexpr AskedCheck judge_persistence{checks::gpu_persistence::check, gpu_node::profile};

Expected wrong(const std::string& mode, const std::string& expected,
               const std::string& device = "gpu0") {
  return fails(device, Remedy::fix_config, {mode, expected});
}

TEST(GpuComputeModeTest, FailsAnyOther) {
  for (const auto& [mode, word] :
       {std::pair(1U, "exclusive_thread"), std::pair(2U, "prohibited"),
        std::pair(3U, "exclusive_process"), std::pair(4U, "4 (unknown)")}) {
    Snapshot node = linked_node::node();
    gpu_of(node, 0).modes.compute = mode;
    EXPECT_EQ(judge_compute(node).front(), wrong(word, "default"));
  }
}

TEST(GpuComputeModeTest, ASiteMayExpectAnotherMode) {
  Profile profile = linked_node::profile();
  profile.gpu->compute_mode.expected = ComputeMode::exclusive_process;
  EXPECT_EQ(judge_compute(linked_node::node(), profile).front(),
            wrong("default", "exclusive_process"));
}

TEST(GpuComputeModeTest, IsUnknownForUnknownFacts) {
  Snapshot node = linked_node::node();
  gpu_of(node, 0).modes.compute = unreadable();
  gpu_of(node, 1).modes.compute = absent("Not Supported (3)");
  EXPECT_THAT(judge_compute(node), ElementsAre(unknown("gpu0"), skips("gpu1")));
}

TEST(GpuComputeModeTest, WithoutAnExpectationAllMustBeInOneUsableMode) {
  Snapshot node = linked_node::node();
  for (auto& gpu : node.nvml->gpus) gpu.modes.compute = 3U;
  EXPECT_THAT(judge_compute(node, Profile{}), ElementsAre(passes()));
  gpu_of(node, 0).modes.compute = 0U;
  EXPECT_EQ(judge_compute(node, Profile{}).front(), wrong("exclusive_process", "default", "gpu1"));
  for (auto& gpu : node.nvml->gpus) gpu.modes.compute = 2U;
  EXPECT_EQ(judge_compute(node, Profile{}).front(), wrong("prohibited", "default"));
}

TEST(GpuEccModeTest, SkipsAGpuWithoutEcc) {
  Snapshot node = gpu_node::node();
  gpu_of(node, 0).modes.ecc = absent();
  EXPECT_THAT(judge_ecc(node), ElementsAre(skips("gpu0"), passes()));
}

TEST(GpuMigTest, AGpuThatCannotBePartitionedPasses) {
  Snapshot node = gpu_node::node();
  gpu_of(node, 0).modes.mig = absent();
  EXPECT_THAT(judge_mig(node), ElementsAre(passes()));
}

TEST(GpuPersistenceTest, OffOnAllGpusIsTheSitesChoice) {
  Snapshot node = gpu_node::node();
  for (auto& gpu : node.nvml->gpus) gpu.modes.persistence = false;
  EXPECT_THAT(judge_persistence(node), ElementsAre(passes()));
  Profile wanted = gpu_node::profile();
  wanted.gpu->persistence.expected = true;
  EXPECT_THAT(judge_persistence(node, wanted), ElementsAre(is(Outcome::warn), is(Outcome::warn)));
  wanted.gpu->persistence.expected = false;
  EXPECT_EQ(judge_persistence(gpu_node::node(), wanted).front(),
            warns("gpu0", Remedy::fix_config, {true, false}));
}

}  // namespace
}  // namespace muster::gpu_modes_test
