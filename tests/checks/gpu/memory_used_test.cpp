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

Finding leak(Outcome outcome, unsigned mib, unsigned limit, std::string_view message) {
  return {.device = "gpu0",
          .outcome = outcome,
          .message = fmt::format("{} MiB of memory in use and no process that computes{} (serial "
                                 "165092300)",
                                 mib, message),
          .observed = static_cast<double>(mib * kMib),
          .limit = static_cast<double>(limit * kMib),
          .unit = "B",
          .remedy = outcome == Outcome::fail ? Remedy::reset_gpu : Remedy::watch};
}

Finding well(std::string_view gpus) {
  return {.device = "node",
          .outcome = Outcome::pass,
          .message = fmt::format("{} without memory in use", gpus)};
}

Finding skips(std::string message) {
  return {.device = "node", .outcome = Outcome::skip, .message = std::move(message)};
}

TEST(GpuMemoryUsedTest, PassesWhereLittleIsInUse) {
  EXPECT_THAT(judge(in_use(16)), ElementsAre(well("2 GPUs")));
}

TEST(GpuMemoryUsedTest, MoreThanAContextOfTheDriverNeedsIsALeak) {
  EXPECT_THAT(judge(in_use(17)),
              ElementsAre(leak(Outcome::warn, 17, 16, ", expected at most 16 MiB"), well("1 GPU")));
  EXPECT_THAT(
      judge(in_use(2048)),
      ElementsAre(leak(Outcome::fail, 2048, 1024, ", expected at most 1024 MiB"), well("1 GPU")));
}

TEST(GpuMemoryUsedTest, AGuestIsRebootedInPlaceOfAReset) {
  Snapshot node = in_use(2048);
  node.identity->hypervisor = true;
  EXPECT_EQ(judge(node).front().remedy, Remedy::reboot);
}

TEST(GpuMemoryUsedTest, AnOlderDriversOwnMemoryIsAllowedFor) {
  Snapshot node = in_use(1000);
  gpu_node::gpu(node, 0).memory->reserved = Fact<std::uint64_t>::absent("part of what is used");
  EXPECT_THAT(judge(node), ElementsAre(well("2 GPUs")));
  gpu_node::gpu(node, 0).memory->used = 2049 * kMib;
  EXPECT_THAT(judge(node),
              ElementsAre(leak(Outcome::fail, 2049, 2048,
                               " (the driver's own included), expected at most 2048 MiB"),
                          well("1 GPU")));
}

TEST(GpuMemoryUsedTest, BesideJobsALeakIsAWarning) {
  EXPECT_THAT(judge(in_use(2048), Context{}),
              ElementsAre(leak(Outcome::warn, 2048, 1024,
                               ", expected at most 1024 MiB; beside jobs it may be that of a "
                               "process that has just ended, or that is not to be seen from here"),
                          well("1 GPU")));
}

TEST(GpuMemoryUsedTest, WhereSlurmDoesNotSayWhoseTheGpuIsItWarns) {
  Snapshot node = in_use(2048);
  node.environment->job = {{"SLURM_JOB_ID", "4242"}};
  EXPECT_THAT(judge(node),
              ElementsAre(leak(Outcome::warn, 2048, 1024,
                               ", expected at most 1024 MiB; whether the job holds this GPU is not "
                               "certain: neither SLURM_JOB_GPUS nor CUDA_VISIBLE_DEVICES is set"),
                          well("1 GPU")));
}

TEST(GpuMemoryUsedTest, TheGpusOfOtherJobsAreNotJudged) {
  Snapshot node = in_use(2048);
  node.environment->job = {{"SLURM_JOB_ID", "4242"}, {"SLURM_JOB_GPUS", "1"}};
  EXPECT_THAT(judge(node), ElementsAre(well("1 GPU")));
}

TEST(GpuMemoryUsedTest, MemoryOfAProcessIsThatChecksAffair) {
  Snapshot node = in_use(2048);
  gpu_node::gpu(node, 0).processes->push_back({.pid = 1, .name = "python"});
  EXPECT_THAT(judge(node), ElementsAre(well("1 GPU")));
  gpu_node::gpu(node, 1).processes->push_back({.pid = 1, .name = "python"});
  EXPECT_THAT(judge(node),
              ElementsAre(skips("2 GPUs with processes and 0 of other jobs: no other to judge")));
}

TEST(GpuMemoryUsedTest, WithoutTheListOfProcessesItIsUnknown) {
  Snapshot node = in_use(2048);
  gpu_node::gpu(node, 0).processes =
      Fact<std::vector<GpuProcess>>::unreadable("Unknown Error (999)");
  EXPECT_EQ(judge(node).front(),
            (Finding{.device = "gpu0",
                     .outcome = Outcome::unknown,
                     .message = "the list of its processes is not known: Unknown Error (999)"}));
}

TEST(GpuMemoryUsedTest, MemoryThatIsNotToldSkips) {
  Snapshot node = in_use(0);
  gpu_node::gpu(node, 0).memory = Fact<GpuMemory>::absent("Not Supported (3)");
  EXPECT_EQ(judge(node).front(),
            (Finding{.device = "gpu0",
                     .outcome = Outcome::skip,
                     .message = "the memory in use is not known: Not Supported (3)"}));
}

TEST(GpuMemoryUsedTest, APartitionedGpuDoesNotTell) {
  Snapshot node = in_use(2048);
  gpu_node::gpu(node, 0).modes.mig = true;
  EXPECT_EQ(judge(node).front(),
            (Finding{.device = "gpu0",
                     .outcome = Outcome::skip,
                     .message = "with MIG on, the memory of the whole GPU does not tell of "
                                "leaks"}));
}

TEST(GpuMemoryUsedTest, WithoutALimitNothingIsJudged) {
  EXPECT_THAT(ask(checks::gpu_memory_used::check, in_use(2048), gpu_node::profile(), kIdle),
              ElementsAre(skips("this profile sets no limit for the memory in use")));
}

TEST(GpuMemoryUsedTest, BesideAMonitorOnlyALargeLeakCounts) {
  Services services;
  services.active = std::vector<std::string>{"nvidia-dcgm.service"};
  Snapshot node = in_use(600);
  node.services = observed(services);
  EXPECT_THAT(judge(node), ElementsAre(well("2 GPUs")));
  gpu_node::gpu(node, 0).memory->used = 1025 * kMib;
  EXPECT_EQ(judge(node).front().outcome, Outcome::fail);
}

TEST(GpuMemoryUsedTest, WhatADaemonHoldsIsItsOwn) {
  Profile allowing = profile();
  allowing.gpu->processes.allowed = {"dcgm*"};
  Snapshot node = in_use(2100);
  auto& gpu = gpu_node::gpu(node, 0);
  gpu.processes->push_back(
      {.pid = 9, .name = "dcgm-exporter", .user = 0U, .memory_bytes = 600 * kMib});
  EXPECT_EQ(ask(checks::gpu_memory_used::check, node, allowing, kIdle).front().outcome,
            Outcome::fail);
  gpu.memory->used = 1600 * kMib;
  EXPECT_THAT(ask(checks::gpu_memory_used::check, node, allowing, kIdle),
              ElementsAre(well("2 GPUs")));
  gpu.memory->used = 9000 * kMib;
  gpu.processes->front().name = "python";
  EXPECT_THAT(ask(checks::gpu_memory_used::check, node, allowing, kIdle),
              ElementsAre(well("1 GPU")));
}

TEST(GpuMemoryUsedTest, AProgramThatDrawsMayUseMemory) {
  Snapshot node = in_use(2048);
  gpu_node::gpu(node, 0).graphics = std::vector<GpuProcess>{{.pid = 9, .name = "Xorg"}};
  EXPECT_THAT(judge(node), ElementsAre(well("1 GPU")));
}

TEST(GpuMemoryUsedTest, ThePageCacheInAGpusMemoryIsNoLeak) {
  Snapshot node = in_use(90000);
  gpu_node::gpu(node, 0).numa_node = 4U;
  Cpu cpu;
  cpu.numa_nodes =
      std::vector<NumaNode>{{.id = 4, .cpus = std::string(), .page_cache_bytes = 90000 * kMib}};
  node.cpu = observed(cpu);
  EXPECT_THAT(judge(node), ElementsAre(well("2 GPUs")));
  node.cpu->numa_nodes->front().page_cache_bytes = 50000 * kMib;
  const Finding found = judge(node).front();
  EXPECT_EQ(found.outcome, Outcome::warn) << "it may be a program's of the processor";
  EXPECT_EQ(found.observed, Value(static_cast<double>(40000 * kMib)));
}

}  // namespace
}  // namespace muster::gpu_memory_used_test
