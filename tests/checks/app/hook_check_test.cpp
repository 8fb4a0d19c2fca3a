// SPDX-License-Identifier: Apache-2.0
// Which processes an epilog may end.
#include "checks/app/hook_check.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/checks/gpu/gpu_node.hpp"

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

TEST(LeftOnGpusTest, TheJobsOwnAndWhatBelongsToNoJobOnItsGpus) {
  const GpuProcess jobs{.pid = 7, .name = "python", .user = 1000U, .job = "4242"};
  const GpuProcess nobodys{.pid = 7, .name = "python", .user = 1000U};
  for (const auto& node : {after_job(jobs), after_job(jobs, 0), after_job(nobodys)}) {
    EXPECT_THAT(left_on_gpus(node), ElementsAre(Field(&LeftOnGpus::pid, 7U)));
  }
}

TEST(LeftOnGpusTest, NothingOfOtherJobsOfOtherGpusOfTheSystemOrOfNobodyKnown) {
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

}  // namespace
}  // namespace muster::app
