// SPDX-License-Identifier: Apache-2.0
// What a hook observes: which processes an epilog may end, and the tests of the node.
#include "checks/app/hook_check.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "tests/checks/app/test_caller.hpp"
#include "tests/checks/gpu/gpu_node.hpp"
#include "tests/support/temp_dir.hpp"

namespace muster::app {
namespace {

using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::IsEmpty;

// Job 4242 held GPU 1 of two.
Snapshot after_job(GpuProcess process, std::size_t gpu = 1) {
  Snapshot node = gpu_node::node();
  node.environment->job = {{"SLURM_JOB_ID", "4242"}, {"SLURM_JOB_GPUS", "1"}};
  gpu_node::gpu(node, gpu).processes->push_back(std::move(process));
  return node;
}

TEST(LeftOnGpusTest, AreTheJobsOwnAndThoseOfNoJobOnItsGpus) {
  const GpuProcess jobs{.pid = 7, .name = "python", .user = 1000U, .job = "4242"};
  const GpuProcess nobodys{.pid = 7, .name = "python", .user = 1000U};
  for (const auto& node : {after_job(jobs), after_job(jobs, 0), after_job(nobodys)}) {
    EXPECT_THAT(left_on_gpus(node), ElementsAre(Field(&LeftOnGpus::pid, 7U)));
  }
}

TEST(LeftOnGpusTest, AreNotThoseOfOtherJobsGpusOrTheSystem) {
  const GpuProcess others{.pid = 7, .name = "python", .user = 1000U, .job = "4243"};
  const GpuProcess nobodys{.pid = 7, .name = "python", .user = 1000U};
  const GpuProcess daemon{.pid = 7, .name = "dcgm-exporter", .user = 0U};
  const GpuProcess unseen{.pid = 7};
  for (const auto& node :
       {after_job(others), after_job(nobodys, 0), after_job(daemon), after_job(unseen)}) {
    EXPECT_THAT(left_on_gpus(node), IsEmpty());
  }
  auto no_job = after_job(nobodys);
  no_job.environment->job.clear();
  EXPECT_THAT(left_on_gpus(no_job), IsEmpty());
}

// A line that holds on every machine is all that is judged, and a script stands for muster-bench.
TEST(HookCheckTest, TheTestsOfTheSiteAreJudgedWithTheNode) {
  const TempDir dir;
  dir.write("nhc.conf", "* || check_hw_eth lo\n");
  dir.write("muster-bench", "#!/bin/sh\nexit 3\n");
  const auto program = dir.path() / "muster-bench";
  ::chmod(program.c_str(), 0755);
  TestCaller test;
  auto caller = test.caller();
  caller.bench = program;
  HookCommand command{.context = "epilog",
                      .profile = "generic",
                      .nhc_conf = (dir.path() / "nhc.conf").string(),
                      .nvml = "/nowhere",
                      .state = dir.path().string(),
                      .dry_run = true};
  const auto verdict_of = [&] {
    Deadline deadline(Clock::now() + std::chrono::seconds(30));
    const auto checked = check_node(command, "", caller, deadline);
    EXPECT_TRUE(checked);
    return checked ? checked->report.verdict : Verdict::unhealthy;
  };
  EXPECT_EQ(verdict_of(), Verdict::healthy);
  command.tests = "gpu.copy";
  command.tests_budget = Seconds{20};
  EXPECT_EQ(verdict_of(), Verdict::unknown) << "the script is no muster-bench";
  command.root = "/proc/self/root";
  EXPECT_EQ(verdict_of(), Verdict::healthy) << "another root's node cannot be tested";
}

}  // namespace
}  // namespace muster::app
