// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checks/catalogue.hpp"
#include "lib/profile/limits/gpu.hpp"
#include "tests/checks/ask.hpp"
#include "tests/checks/gpu/gpu_node.hpp"
#include "tests/support/printers.hpp"

namespace muster::gpu_processes_test {
namespace {

using ::testing::ElementsAre;

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
  gpu_node::gpu(node, 1).processes->push_back(std::move(one));
  return node;
}

// The epilog of job 4242 on a node that jobs share.
Snapshot epilog(GpuProcess one, std::string gpus = "1") {
  return with(std::move(one), {{"SLURM_JOB_ID", "4242"}, {"SLURM_JOB_GPUS", std::move(gpus)}});
}

Findings judge(const Snapshot& snapshot, const Context& context) {
  Profile profile = gpu_node::profile();
  profile.gpu->processes.allowed = {"nvidia-persistenced", "dcgm*", "Xorg"};
  return ask(checks::gpu_processes::check, snapshot, profile, context);
}

Finding about(Outcome outcome, std::string_view what, Remedy remedy) {
  return {.device = "gpu1",
          .outcome = outcome,
          .message = fmt::format("process 4711 (python, user 1000, 40.0 GiB) {}", what),
          .observed = static_cast<std::int64_t>(40 * kGib),
          .limit = std::int64_t{0},
          .unit = "B",
          .remedy = remedy};
}

Finding fails(std::string_view what) { return about(Outcome::fail, what, Remedy::restart_app); }

Finding warns(std::string_view what) { return about(Outcome::warn, what, Remedy::watch); }

Finding passes(std::string message) {
  return {.device = "node", .outcome = Outcome::pass, .message = std::move(message)};
}

Finding skips(std::string message) {
  return {.device = "node", .outcome = Outcome::skip, .message = std::move(message)};
}

TEST(GpuProcessesTest, PassesWhereNobodyComputes) {
  EXPECT_THAT(judge(gpu_node::node(), kIdle),
              ElementsAre(passes("2 GPUs without a process left behind")));
  EXPECT_THAT(judge(gpu_node::node(), kBusy),
              ElementsAre(passes("2 GPUs without a process, or with those of jobs")));
}

TEST(GpuProcessesTest, BeforeAnyJobAProcessWasLeftBehind) {
  EXPECT_THAT(judge(with(process()), kIdle),
              ElementsAre(fails("was left behind, and belongs to no job")));
}

TEST(GpuProcessesTest, WhatTheEndedJobLeftBehindFails) {
  EXPECT_THAT(judge(epilog(process("4242")), kIdle),
              ElementsAre(fails("was left behind by job 4242")));
  EXPECT_THAT(judge(epilog(process()), kIdle),
              ElementsAre(fails("was left behind, and belongs to no job")));
}

TEST(GpuProcessesTest, WhatTheEndedJobLeftOnTheGpuOfAnotherFailsToo) {
  EXPECT_THAT(judge(epilog(process("4242"), "0"), kIdle),
              ElementsAre(fails("was left behind by job 4242")));
}

TEST(GpuProcessesTest, AProcessOfAnotherJobIsNoReasonToDrain) {
  EXPECT_THAT(judge(epilog(process("4000")), kIdle),
              ElementsAre(warns("was left behind by job 4000, unless that still runs")));
  EXPECT_THAT(judge(with(process("4000")), kIdle),
              ElementsAre(warns("was left behind by job 4000, unless that still runs")));
}

TEST(GpuProcessesTest, TheGpusOfOtherJobsAreNotJudged) {
  const auto expected = passes("1 GPU without a process left behind; 1 of other jobs left out");
  EXPECT_THAT(judge(epilog(process("4000"), "0"), kIdle), ElementsAre(expected));
  EXPECT_THAT(judge(epilog(process(), "0"), kIdle), ElementsAre(expected));
}

TEST(GpuProcessesTest, AJobWithoutGpusHasNothingToLeave) {
  EXPECT_THAT(judge(epilog(process(), ""), kIdle),
              ElementsAre(skips("job 4242 holds no GPU here that answers")));
}

TEST(GpuProcessesTest, WhereSlurmDoesNotSayWhoseTheGpuIsItWarns) {
  EXPECT_THAT(judge(with(process(), {{"SLURM_JOB_ID", "4242"}}), kIdle),
              ElementsAre(warns("belongs to no job that its cgroup names, and it may be of another "
                                "job than 4242: neither SLURM_JOB_GPUS nor CUDA_VISIBLE_DEVICES "
                                "is set")));
  Snapshot node = with(process());
  node.environment = {.status = Status::timeout, .reason = "no answer within 2 s"};
  EXPECT_THAT(judge(node, kIdle),
              ElementsAre(warns("belongs to no job that its cgroup names, and no job is known: the "
                                "environment is not known: no answer within 2 s")));
  EXPECT_THAT(judge(with(process("4242"), {{"SLURM_JOB_ID", "4242"}}), kIdle),
              ElementsAre(fails("was left behind by job 4242")));
  EXPECT_THAT(judge(with(process("4000"), {{"SLURM_JOB_ID", "4242"}}), kIdle),
              ElementsAre(passes("2 GPUs without a process left behind")));
}

TEST(GpuProcessesTest, NamesAProcessOnceForAllItsGpus) {
  Snapshot node = with(process());
  gpu_node::gpu(node, 0).processes->push_back(process());
  const auto findings = judge(node, kIdle);
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings.front().device, "gpu0");
  EXPECT_EQ(findings.front().message,
            "process 4711 (python, user 1000, 80.0 GiB on 2 GPUs) was left behind, and belongs to "
            "no job");
}

TEST(GpuProcessesTest, WhatIsNotKnownOfAProcessIsSaid) {
  GpuProcess one = process("4242");
  one.name = "";
  one.user = Fact<unsigned>::absent("no such file");
  one.memory_bytes = Fact<std::uint64_t>::absent("NVML does not tell");
  EXPECT_THAT(judge(epilog(one), kIdle),
              ElementsAre(Finding{.device = "gpu1",
                                  .outcome = Outcome::fail,
                                  .message = "process 4711 (command not known, user not known, "
                                             "memory not known) was left behind by job 4242",
                                  .remedy = Remedy::restart_app}));
}

TEST(GpuProcessesTest, AProcessThatCannotBeSeenIsNoReasonToDrain) {
  GpuProcess one = process();
  one.name = "";
  one.user = Fact<unsigned>::absent("no such file");
  const auto findings = judge(with(one), kIdle);
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings.front().outcome, Outcome::warn);
  EXPECT_EQ(findings.front().message,
            "process 4711 (command not known, user not known, 40.0 GiB) is not to be seen in "
            "/proc: it has just ended, hangs in the driver, or lives in another PID namespace");
  EXPECT_THAT(judge(with(one), kBusy),
              ElementsAre(passes("2 GPUs without a process, or with those of jobs")));
}

TEST(GpuProcessesTest, TheSystemsOwnProcessesAreAllowed) {
  for (const auto* name : {"nvidia-persiste", "Xorg", "dcgm-exporter"}) {
    GpuProcess one = process();
    one.name = name;
    one.user = 0U;
    EXPECT_THAT(judge(with(one), kIdle),
                ElementsAre(passes("2 GPUs without a process left behind")))
        << name;
    // Anybody may give his process that name.
    one.user = 1001U;
    EXPECT_EQ(judge(with(one), kIdle).front().outcome, Outcome::fail) << name;
  }
  GpuProcess other = process();
  other.name = "nvidia-persist";
  EXPECT_EQ(judge(with(other), kIdle).front().outcome, Outcome::fail);
}

TEST(GpuProcessesTest, BesideJobsTheirProcessesAreAsTheyShouldBe) {
  EXPECT_THAT(judge(with(process("4000")), kBusy),
              ElementsAre(passes("2 GPUs without a process, or with those of jobs")));
}

TEST(GpuProcessesTest, BesideJobsAProcessWithoutOneIsWorthAWarning) {
  const auto expected =
      warns("belongs to no job that its cgroup names: it was left behind, or started past Slurm");
  Snapshot beside_a_job = with(process());
  gpu_node::gpu(beside_a_job, 0).processes->push_back(process("4000", 99));
  EXPECT_THAT(judge(beside_a_job, kBusy), ElementsAre(expected));
  Snapshot with_slurm = with(process());
  with_slurm.services = observed(Services{.active = std::vector<std::string>{"slurmd.service"}});
  EXPECT_THAT(judge(with_slurm, kBusy), ElementsAre(expected));
}

TEST(GpuProcessesTest, WithoutSlurmNobodySaysWhoMayCompute) {
  EXPECT_THAT(
      judge(with(process()), kBusy),
      ElementsAre(skips("1 process computes on the GPUs, and no Slurm to say whether for a job")));
  Snapshot node = with(process());
  gpu_node::gpu(node, 1).processes->push_back(process("", 12));
  EXPECT_THAT(
      judge(node, kBusy),
      ElementsAre(skips("2 processes compute on the GPUs, and no Slurm to say whether for a job")));
}

TEST(GpuProcessesTest, AListThatCannotBeReadIsUnknownAndOneThatIsNotOfferedSkips) {
  using List = Fact<std::vector<GpuProcess>>;
  for (const auto& context : {kIdle, kBusy}) {
    Snapshot node = gpu_node::node();
    gpu_node::gpu(node, 0).processes = List::unreadable("Unknown Error (999)");
    gpu_node::gpu(node, 1).processes = List::absent("Not Supported (3)");
    EXPECT_THAT(judge(node, context),
                ElementsAre(Finding{.device = "gpu0",
                                    .outcome = Outcome::unknown,
                                    .message = "the list of its processes is not known: Unknown "
                                               "Error (999)"},
                            Finding{.device = "gpu1",
                                    .outcome = Outcome::skip,
                                    .message = "the list of its processes is not known: Not "
                                               "Supported (3)"}));
  }
}

TEST(GpuProcessesTest, ALostGpuIsLeftToGpuPresent) {
  Snapshot node = with(process());
  gpu_node::gpu(node, 1).lost = "nvmlDeviceGetName: GPU is lost (15)";
  EXPECT_THAT(judge(node, kIdle), ElementsAre(passes("1 GPU without a process left behind")));
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

}  // namespace
}  // namespace muster::gpu_processes_test
