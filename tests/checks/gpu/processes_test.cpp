// SPDX-License-Identifier: Apache-2.0
// Processes and memory that jobs left on GPUs.
#include "tests/checks/ask.hpp"
#include "tests/checks/gpu/gpu_node.hpp"

namespace muster::gpu_processes_test {
namespace {

constexpr std::uint64_t kGib = 1ULL << 30U;
const Context kIdle{.gpus_idle = true};
const Context kBusy{};

GpuProcess process(std::string job = {}, unsigned pid = 4711) {
  return {.pid = pid,
          .name = "python",
          .user = 1000U,
          .job = std::move(job),
          .memory_bytes = 40 * kGib};
}

Snapshot with(GpuProcess one, std::map<std::string, std::string> job = {}) {
  Snapshot node = gpu_node::node();
  node.environment->job = std::move(job);
  gpu_of(node, 1).processes->push_back(std::move(one));
  return node;
}

// The epilog of job 4242 on a node that jobs share.
Snapshot epilog(GpuProcess one, std::string gpus = "1") {
  return with(std::move(one), {{"SLURM_JOB_ID", "4242"}, {"SLURM_JOB_GPUS", std::move(gpus)}});
}

Findings judge_processes(const Snapshot& snapshot, const Context& context) {
  Profile profile = gpu_node::profile();
  profile.gpu->processes.allowed = {"nvidia-persistenced", "dcgm*", "Xorg"};
  return ask(checks::gpu_processes::check, snapshot, profile, context);
}

Expected about(Outcome outcome, Remedy remedy) {
  return finds(outcome, "gpu1", remedy, {static_cast<std::int64_t>(40 * kGib), 0, "B"});
}

Expected fails() { return about(Outcome::fail, Remedy::restart_app); }

Expected warns() { return about(Outcome::warn, Remedy::watch); }

TEST(GpuProcessesTest, FailsProcessesOfTheEndedJob) {
  EXPECT_THAT(judge_processes(epilog(process("4242")), kIdle), ElementsAre(fails()));
  EXPECT_THAT(judge_processes(epilog(process("4242"), "0"), kIdle), ElementsAre(fails()))
      << "another GPU";
  EXPECT_THAT(judge_processes(epilog(process()), kIdle), ElementsAre(fails()));
  EXPECT_THAT(judge_processes(with(process()), kIdle), ElementsAre(fails())) << "before any job";
}

TEST(GpuProcessesTest, AProcessOfAnotherJobWarns) {
  EXPECT_THAT(judge_processes(epilog(process("4000")), kIdle), ElementsAre(warns()));
  EXPECT_THAT(judge_processes(with(process("4000")), kIdle), ElementsAre(warns()));
  EXPECT_THAT(judge_processes(with(process("4000")), kBusy), ElementsAre(passes()));
}

TEST(GpuProcessesTest, TheGpusOfOtherJobsAreNotJudged) {
  EXPECT_THAT(judge_processes(epilog(process("4000"), "0"), kIdle), ElementsAre(passes()));
  EXPECT_THAT(judge_processes(epilog(process(), "0"), kIdle), ElementsAre(passes()));
  EXPECT_THAT(judge_processes(epilog(process(), ""), kIdle), ElementsAre(skips())) << "it has none";
}

TEST(GpuProcessesTest, WarnsIfSlurmDoesNotNameTheJobOfTheGpu) {
  EXPECT_THAT(judge_processes(with(process(), {{"SLURM_JOB_ID", "4242"}}), kIdle),
              ElementsAre(warns()));
  Snapshot node = with(process());
  node.environment = {.status = Status::timeout, .reason = "no answer within 2 s"};
  EXPECT_THAT(judge_processes(node, kIdle), ElementsAre(warns()));
  EXPECT_THAT(judge_processes(with(process("4242"), {{"SLURM_JOB_ID", "4242"}}), kIdle),
              ElementsAre(fails()));
  EXPECT_THAT(judge_processes(with(process("4000"), {{"SLURM_JOB_ID", "4242"}}), kIdle),
              ElementsAre(passes()));
}

TEST(GpuProcessesTest, NamesAProcessOnceForAllItsGpus) {
  Snapshot node = with(process());
  gpu_of(node, 0).processes->push_back(process());
  EXPECT_THAT(judge_processes(node, kIdle),
              ElementsAre(fails("gpu0", Remedy::restart_app, {85899345920, 0, "B"})));
}

TEST(GpuProcessesTest, JudgesAProcessWithUnknownFacts) {
  GpuProcess one = process("4242");
  one.name = "";
  one.user = absent();
  one.memory_bytes = absent();
  EXPECT_THAT(judge_processes(epilog(one), kIdle), ElementsAre(fails("gpu1", Remedy::restart_app)));
}

TEST(GpuProcessesTest, AnInvisibleProcessWarns) {
  GpuProcess one = process();
  one.name = "";
  one.user = absent();
  EXPECT_THAT(judge_processes(with(one), kIdle), ElementsAre(warns()));
  EXPECT_THAT(judge_processes(with(one), kBusy), ElementsAre(passes()));
}

TEST(GpuProcessesTest, TheSystemsOwnProcessesAreAllowed) {
  for (const auto* name : {"nvidia-persiste", "Xorg", "dcgm-exporter"}) {
    GpuProcess one = process();
    one.name = name;
    one.user = 0U;
    EXPECT_THAT(judge_processes(with(one), kIdle), ElementsAre(passes())) << name;
    // Any user can give a process that name.
    one.user = 1001U;
    EXPECT_EQ(judge_processes(with(one), kIdle).front().outcome, Outcome::fail) << name;
  }
  GpuProcess other = process();
  other.name = "nvidia-persist";
  EXPECT_EQ(judge_processes(with(other), kIdle).front().outcome, Outcome::fail);
}

TEST(GpuProcessesTest, WhileJobsRunAProcessWithoutAJobWarns) {
  Snapshot beside_a_job = with(process());
  gpu_of(beside_a_job, 0).processes->push_back(process("4000", 99));
  EXPECT_THAT(judge_processes(beside_a_job, kBusy), ElementsAre(warns()));
  Snapshot with_slurm = with(process());
  with_slurm.services = observed(Services{.active = std::vector<std::string>{"slurmd.service"}});
  EXPECT_THAT(judge_processes(with_slurm, kBusy), ElementsAre(warns()));
}

TEST(GpuProcessesTest, WithoutSlurmProcessesAreSkipped) {
  Snapshot node = with(process());
  EXPECT_THAT(judge_processes(node, kBusy), ElementsAre(skips()));
  gpu_of(node, 1).processes->push_back(process("", 12));
  EXPECT_THAT(judge_processes(node, kBusy), ElementsAre(skips()));
}

TEST(GpuProcessesTest, AListThatCannotBeReadIsUnknownAndOneThatIsNotOfferedSkips) {
  using List = Fact<std::vector<GpuProcess>>;
  for (const auto& context : {kIdle, kBusy}) {
    Snapshot node = gpu_node::node();
    gpu_of(node, 0).processes = List::unreadable("Unknown Error (999)");
    gpu_of(node, 1).processes = List::absent("Not Supported (3)");
    EXPECT_THAT(judge_processes(node, context), ElementsAre(unknown("gpu0"), skips("gpu1")));
  }
}

TEST(GpuProcessesTest, ALostGpuIsLeftToGpuPresent) {
  Snapshot node = with(process());
  gpu_of(node, 1).lost = "nvmlDeviceGetName: GPU is lost (15)";
  EXPECT_THAT(judge_processes(node, kIdle), ElementsAre(passes()));
}

TEST(GpuProcessesTest, TheServerOfMpsMayRunAsAUserInTheSystemsUnit) {
  Profile profile = gpu_node::profile();
  profile.gpu->processes.allowed = {"nvidia-cuda-mps-server"};
  GpuProcess server = process();
  server.name = "nvidia-cuda-mps";
  const auto outcome = [&](const std::string& unit) {
    server.unit = unit;
    return ask(checks::gpu_processes::check, with(server), profile, kIdle).front().outcome;
  };
  EXPECT_EQ(outcome("nvidia-mps.service"), Outcome::pass);
  EXPECT_EQ(outcome(""), Outcome::fail) << "any user's process could call itself so";
  EXPECT_EQ(outcome("slurmd.service"), Outcome::fail) << "a job's, where Slurm has no cgroups";
  EXPECT_EQ(outcome("slurmstepd.scope"), Outcome::fail);
}

constexpr std::uint64_t kMib = 1ULL << 20U;

Profile profile() {
  Profile profile = gpu_node::profile();
  profile.gpu->memory_used = {.warn_above = Bytes{16.0 * kMib},
                              .fail_above = Bytes{1024.0 * kMib},
                              .driver_reserve = Bytes{1024.0 * kMib}};
  return profile;
}

Findings judge_memory(const Snapshot& snapshot, const Context& context = kIdle) {
  return ask(checks::gpu_memory_used::check, snapshot, profile(), context);
}

Snapshot in_use(std::uint64_t mib) {
  Snapshot node = gpu_node::bare_metal();
  gpu_of(node, 0).memory->used = mib * kMib;
  return node;
}

Expected leak(Outcome outcome, unsigned mib, unsigned limit) {
  return finds(outcome, "gpu0", outcome == Outcome::fail ? Remedy::reset_gpu : Remedy::watch,
               {static_cast<double>(mib * kMib), static_cast<double>(limit * kMib), "B"});
}

TEST(GpuMemoryUsedTest, MoreThanAContextOfTheDriverNeedsIsALeak) {
  EXPECT_THAT(judge_memory(in_use(16)), ElementsAre(passes()));
  EXPECT_THAT(judge_memory(in_use(17)), ElementsAre(leak(Outcome::warn, 17, 16), passes()));
  EXPECT_THAT(judge_memory(in_use(2048)), ElementsAre(leak(Outcome::fail, 2048, 1024), passes()));
  EXPECT_THAT(judge_memory(in_use(2048), Context{}),
              ElementsAre(leak(Outcome::warn, 2048, 1024), passes()));
  Snapshot guest = in_use(2048);
  guest.identity->hypervisor = true;
  EXPECT_EQ(judge_memory(guest).front().remedy, Remedy::reboot);
}

TEST(GpuMemoryUsedTest, AnOlderDriversOwnMemoryIsAllowedFor) {
  Snapshot node = in_use(1000);
  gpu_of(node, 0).memory->reserved = absent();
  EXPECT_THAT(judge_memory(node), ElementsAre(passes()));
  gpu_of(node, 0).memory->used = 2049 * kMib;
  EXPECT_THAT(judge_memory(node), ElementsAre(leak(Outcome::fail, 2049, 2048), passes()));
}

TEST(GpuMemoryUsedTest, JudgesOneChangeOfInUse) {
  const std::vector<NodeChange> changes{
      {"where slurm does not say whose the GPU is it warns",
       [](Snapshot& node) {
         node.environment->job = {{"SLURM_JOB_ID", "4242"}};
       },
       {leak(Outcome::warn, 2048, 1024), passes()}},
      {"the GPUs of other jobs are not judged",
       [](Snapshot& node) {
         node.environment->job = {{"SLURM_JOB_ID", "4242"}, {"SLURM_JOB_GPUS", "1"}};
       },
       {passes()}},
      {"without the list of processes it is unknown",
       [](Snapshot& node) { gpu_of(node, 0).processes = unreadable(); },
       {unknown("gpu0"), passes()}},
      {"skips a partitioned GPU",
       [](Snapshot& node) { gpu_of(node, 0).modes.mig = true; },
       {skips("gpu0"), passes()}},
      {"a program that draws may use memory",
       [](Snapshot& node) {
         gpu_of(node, 0).graphics = std::vector<GpuProcess>{{.pid = 9, .name = "Xorg"}};
       },
       {passes()}},
  };
  expect_findings([](const Snapshot& node) { return judge_memory(node); }, in_use(2048), changes);
}

TEST(GpuMemoryUsedTest, MemoryOfAProcessIsThatChecksAffair) {
  Snapshot node = in_use(2048);
  gpu_of(node, 0).processes->push_back({.pid = 1, .name = "python"});
  EXPECT_THAT(judge_memory(node), ElementsAre(passes()));
  gpu_of(node, 1).processes->push_back({.pid = 1, .name = "python"});
  EXPECT_THAT(judge_memory(node), ElementsAre(skips()));
}

// gpu0 has memory in use by a process that NVML lists and /proc does not.
Snapshot held_by_vanished(std::uint64_t mib, const std::string& why_no_container) {
  Snapshot node = in_use(mib);
  node.identity->container = Fact<Container>::absent(why_no_container);
  gpu_of(node, 0).processes->push_back({.pid = 4242, .memory_bytes = mib * kMib});
  return node;
}

TEST(GpuMemoryUsedTest, AVanishedProcessHoldsNoMemoryOutsideOfContainers) {
  Snapshot node = held_by_vanished(70000, "no sign of a container");
  EXPECT_THAT(judge_memory(node), ElementsAre(leak(Outcome::fail, 70000, 1024), passes()));
  EXPECT_THAT(judge_memory(node, kBusy), ElementsAre(leak(Outcome::warn, 70000, 1024), passes()));
  gpu_of(node, 0).processes->front().memory_bytes = absent();
  gpu_of(node, 0).processes->push_back({.pid = 4243});
  EXPECT_EQ(judge_memory(node).front().outcome, Outcome::fail);
  EXPECT_THAT(judge_memory(held_by_vanished(17, "no sign of a container")),
              ElementsAre(leak(Outcome::warn, 17, 16), passes()));
  EXPECT_THAT(judge_memory(held_by_vanished(16, "no sign of a container")), ElementsAre(passes()));
}

TEST(GpuMemoryUsedTest, AVisibleProcessMayHoldWhatAVanishedOneSeemsTo) {
  Snapshot node = held_by_vanished(70000, "no sign of a container");
  gpu_of(node, 0).processes->push_back(process("4000"));
  EXPECT_THAT(judge_memory(node), ElementsAre(passes()));
}

TEST(GpuMemoryUsedTest, InAContainerAProcessMayBeInvisible) {
  Snapshot node = held_by_vanished(70000, "not observed");
  EXPECT_THAT(judge_memory(node), ElementsAre(passes()));
  node.identity->container = Container{};
  EXPECT_THAT(judge_memory(node), ElementsAre(passes()));
}

TEST(GpuMemoryUsedTest, SkipsWithoutMemoryFactsOrLimits) {
  Snapshot node = in_use(2048);
  EXPECT_THAT(ask(checks::gpu_memory_used::check, node, gpu_node::profile(), kIdle),
              ElementsAre(skips()));
  gpu_of(node, 0).memory = absent("Not Supported (3)");
  EXPECT_EQ(judge_memory(node).front(), skips("gpu0"));
}

TEST(GpuMemoryUsedTest, WithAMonitorOnlyALargeLeakCounts) {
  Services services;
  services.active = std::vector<std::string>{"nvidia-dcgm.service"};
  Snapshot node = in_use(600);
  node.services = observed(services);
  EXPECT_THAT(judge_memory(node), ElementsAre(passes()));
  gpu_of(node, 0).memory->used = 1025 * kMib;
  EXPECT_EQ(judge_memory(node).front().outcome, Outcome::fail);
}

TEST(GpuMemoryUsedTest, MemoryOfDaemonsDoesNotCount) {
  Profile allowing = profile();
  allowing.gpu->processes.allowed = {"dcgm*"};
  Snapshot node = in_use(2100);
  auto& gpu = gpu_of(node, 0);
  gpu.processes->push_back(
      {.pid = 9, .name = "dcgm-exporter", .user = 0U, .memory_bytes = 600 * kMib});
  const auto outcome = [&] {
    return ask(checks::gpu_memory_used::check, node, allowing, kIdle).front().outcome;
  };
  EXPECT_EQ(outcome(), Outcome::fail);
  gpu.memory->used = 1600 * kMib;
  EXPECT_EQ(outcome(), Outcome::pass);
  gpu.memory->used = 9000 * kMib;
  gpu.processes->front().name = "python";
  EXPECT_EQ(outcome(), Outcome::pass);
}

TEST(GpuMemoryUsedTest, ThePageCacheInGpuMemoryDoesNotCount) {
  Snapshot node = in_use(90000);
  gpu_of(node, 0).numa_node = 4U;
  Cpu cpu;
  cpu.numa_nodes =
      std::vector<NumaNode>{{.id = 4, .cpus = std::string(), .page_cache_bytes = 90000 * kMib}};
  node.cpu = observed(cpu);
  EXPECT_THAT(judge_memory(node), ElementsAre(passes()));
  node.cpu->numa_nodes->front().page_cache_bytes = 50000 * kMib;
  const Finding found = judge_memory(node).front();
  EXPECT_EQ(found.outcome, Outcome::warn) << "it may be a program's of the processor";
  EXPECT_EQ(found.observed, Value(static_cast<double>(40000 * kMib)));
}

}  // namespace
}  // namespace muster::gpu_processes_test
