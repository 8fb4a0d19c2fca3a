// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checks/catalogue.hpp"
#include "lib/profile/limits/gpu.hpp"
#include "tests/checks/ask.hpp"
#include "tests/checks/gpu/gpu_node.hpp"
#include "tests/support/printers.hpp"

namespace muster::gpu_memory_used_test {
namespace {

using ::testing::ElementsAre;

constexpr std::uint64_t kMib = 1ULL << 20U;
const Context kIdle{.gpus_idle = true};

Profile profile() {
  Profile profile = gpu_node::profile();
  profile.gpu->memory_used = {.warn_above = Bytes{16.0 * kMib},
                              .fail_above = Bytes{1024.0 * kMib},
                              .driver_reserve = Bytes{1024.0 * kMib}};
  return profile;
}

Findings judge(const Snapshot& snapshot, const Context& context = kIdle) {
  return ask(checks::gpu_memory_used::check, snapshot, profile(), context);
}

Snapshot in_use(std::uint64_t mib) {
  Snapshot node = gpu_node::bare_metal();
  gpu_node::gpu(node, 0).memory->used = mib * kMib;
  return node;
}

Expected leak(Outcome outcome, unsigned mib, unsigned limit) {
  return {.device = "gpu0",
          .outcome = outcome,
          .observed = static_cast<double>(mib * kMib),
          .limit = static_cast<double>(limit * kMib),
          .unit = "B",
          .remedy = outcome == Outcome::fail ? Remedy::reset_gpu : Remedy::watch};
}

TEST(GpuMemoryUsedTest, PassesWhereLittleIsInUse) {
  EXPECT_THAT(judge(in_use(16)), ElementsAre(passes()));
}

TEST(GpuMemoryUsedTest, MoreThanAContextOfTheDriverNeedsIsALeak) {
  EXPECT_THAT(judge(in_use(17)), ElementsAre(leak(Outcome::warn, 17, 16), passes()));
  EXPECT_THAT(judge(in_use(2048)), ElementsAre(leak(Outcome::fail, 2048, 1024), passes()));
}

TEST(GpuMemoryUsedTest, AGuestIsRebootedInPlaceOfAReset) {
  Snapshot node = in_use(2048);
  node.identity->hypervisor = true;
  EXPECT_EQ(judge(node).front().remedy, Remedy::reboot);
}

TEST(GpuMemoryUsedTest, AnOlderDriversOwnMemoryIsAllowedFor) {
  Snapshot node = in_use(1000);
  gpu_node::gpu(node, 0).memory->reserved = Fact<std::uint64_t>::absent("part of what is used");
  EXPECT_THAT(judge(node), ElementsAre(passes()));
  gpu_node::gpu(node, 0).memory->used = 2049 * kMib;
  EXPECT_THAT(judge(node), ElementsAre(leak(Outcome::fail, 2049, 2048), passes()));
}

TEST(GpuMemoryUsedTest, WhileJobsRunALeakWarns) {
  EXPECT_THAT(judge(in_use(2048), Context{}),
              ElementsAre(leak(Outcome::warn, 2048, 1024), passes()));
}

TEST(GpuMemoryUsedTest, WhereSlurmDoesNotSayWhoseTheGpuIsItWarns) {
  Snapshot node = in_use(2048);
  node.environment->job = {{"SLURM_JOB_ID", "4242"}};
  EXPECT_THAT(judge(node), ElementsAre(leak(Outcome::warn, 2048, 1024), passes()));
}

TEST(GpuMemoryUsedTest, TheGpusOfOtherJobsAreNotJudged) {
  Snapshot node = in_use(2048);
  node.environment->job = {{"SLURM_JOB_ID", "4242"}, {"SLURM_JOB_GPUS", "1"}};
  EXPECT_THAT(judge(node), ElementsAre(passes()));
}

TEST(GpuMemoryUsedTest, MemoryOfAProcessIsThatChecksAffair) {
  Snapshot node = in_use(2048);
  gpu_node::gpu(node, 0).processes->push_back({.pid = 1, .name = "python"});
  EXPECT_THAT(judge(node), ElementsAre(passes()));
  gpu_node::gpu(node, 1).processes->push_back({.pid = 1, .name = "python"});
  EXPECT_THAT(judge(node), ElementsAre(skips()));
}

TEST(GpuMemoryUsedTest, WithoutTheListOfProcessesItIsUnknown) {
  Snapshot node = in_use(2048);
  gpu_node::gpu(node, 0).processes =
      Fact<std::vector<GpuProcess>>::unreadable("Unknown Error (999)");
  EXPECT_EQ(judge(node).front(), (unknown("gpu0")));
}

TEST(GpuMemoryUsedTest, SkipsWithoutMemoryFacts) {
  Snapshot node = in_use(0);
  gpu_node::gpu(node, 0).memory = Fact<GpuMemory>::absent("Not Supported (3)");
  EXPECT_EQ(judge(node).front(), skips("gpu0"));
}

TEST(GpuMemoryUsedTest, SkipsAPartitionedGpu) {
  Snapshot node = in_use(2048);
  gpu_node::gpu(node, 0).modes.mig = true;
  EXPECT_EQ(judge(node).front(), skips("gpu0"));
}

TEST(GpuMemoryUsedTest, WithoutALimitNothingIsJudged) {
  EXPECT_THAT(ask(checks::gpu_memory_used::check, in_use(2048), gpu_node::profile(), kIdle),
              ElementsAre(skips()));
}

TEST(GpuMemoryUsedTest, WithAMonitorOnlyALargeLeakCounts) {
  Services services;
  services.active = std::vector<std::string>{"nvidia-dcgm.service"};
  Snapshot node = in_use(600);
  node.services = observed(services);
  EXPECT_THAT(judge(node), ElementsAre(passes()));
  gpu_node::gpu(node, 0).memory->used = 1025 * kMib;
  EXPECT_EQ(judge(node).front().outcome, Outcome::fail);
}

TEST(GpuMemoryUsedTest, MemoryOfDaemonsDoesNotCount) {
  Profile allowing = profile();
  allowing.gpu->processes.allowed = {"dcgm*"};
  Snapshot node = in_use(2100);
  auto& gpu = gpu_node::gpu(node, 0);
  gpu.processes->push_back(
      {.pid = 9, .name = "dcgm-exporter", .user = 0U, .memory_bytes = 600 * kMib});
  EXPECT_EQ(ask(checks::gpu_memory_used::check, node, allowing, kIdle).front().outcome,
            Outcome::fail);
  gpu.memory->used = 1600 * kMib;
  EXPECT_THAT(ask(checks::gpu_memory_used::check, node, allowing, kIdle), ElementsAre(passes()));
  gpu.memory->used = 9000 * kMib;
  gpu.processes->front().name = "python";
  EXPECT_THAT(ask(checks::gpu_memory_used::check, node, allowing, kIdle), ElementsAre(passes()));
}

TEST(GpuMemoryUsedTest, AProgramThatDrawsMayUseMemory) {
  Snapshot node = in_use(2048);
  gpu_node::gpu(node, 0).graphics = std::vector<GpuProcess>{{.pid = 9, .name = "Xorg"}};
  EXPECT_THAT(judge(node), ElementsAre(passes()));
}

TEST(GpuMemoryUsedTest, ThePageCacheInGpuMemoryDoesNotCount) {
  Snapshot node = in_use(90000);
  gpu_node::gpu(node, 0).numa_node = 4U;
  Cpu cpu;
  cpu.numa_nodes =
      std::vector<NumaNode>{{.id = 4, .cpus = std::string(), .page_cache_bytes = 90000 * kMib}};
  node.cpu = observed(cpu);
  EXPECT_THAT(judge(node), ElementsAre(passes()));
  node.cpu->numa_nodes->front().page_cache_bytes = 50000 * kMib;
  const Finding found = judge(node).front();
  EXPECT_EQ(found.outcome, Outcome::warn) << "it may be a program's of the processor";
  EXPECT_EQ(found.observed, Value(static_cast<double>(40000 * kMib)));
}

}  // namespace
}  // namespace muster::gpu_memory_used_test
