// SPDX-License-Identifier: Apache-2.0
#include "lib/state/job_gpus.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <ostream>
#include <string>
#include <vector>

namespace muster {
namespace {

using Variables = std::map<std::string, std::string>;

constexpr Held kYes = Held::yes;
constexpr Held kNo = Held::no;
constexpr Held kPerhaps = Held::perhaps;

// Four GPUs, device files in the order of PCI addresses.
Snapshot four_gpus(Variables variables) {
  Snapshot snapshot;
  snapshot.nvml = observed(Nvml{});
  for (unsigned i = 0; i < 4; ++i) {
    Gpu gpu{.index = i};
    gpu.uuid = fmt::format("GPU-{}0000000-aaaa", i);
    gpu.minor = i;
    gpu.modes.mig = false;
    snapshot.nvml->gpus.push_back(gpu);
  }
  snapshot.environment = observed(Environment{.job = std::move(variables)});
  return snapshot;
}

std::vector<Held> held(const Snapshot& snapshot) {
  const JobGpus mine = find_job_gpus(snapshot);
  std::vector<Held> all;
  for (const Gpu& gpu : snapshot.nvml->gpus) all.push_back(mine.of(gpu));
  return all;
}

struct Case {
  std::string name;
  Variables variables;
  std::vector<Held> held;
};

// NOLINTNEXTLINE(readability-identifier-naming): gtest's name.
void PrintTo(const Case& one, std::ostream* out) { *out << one.name; }

class JobGpusTest : public ::testing::TestWithParam<Case> {};

TEST_P(JobGpusTest, AreThoseOfSlurmsVariables) {
  Variables variables = GetParam().variables;
  variables.emplace("SLURM_JOB_ID", "4242");
  EXPECT_EQ(held(four_gpus(variables)), GetParam().held);
}

INSTANTIATE_TEST_SUITE_P(
    Lists, JobGpusTest,
    ::testing::Values(
        Case{"List", {{"SLURM_JOB_GPUS", "0,2"}}, {kYes, kNo, kYes, kNo}},
        Case{"Range", {{"SLURM_JOB_GPUS", "1-2"}}, {kNo, kYes, kYes, kNo}},
        Case{"ListWithRange", {{"SLURM_JOB_GPUS", "3, 0-1"}}, {kYes, kYes, kNo, kYes}},
        Case{"WholeNode", {{"SLURM_JOB_GPUS", "0-3"}}, {kYes, kYes, kYes, kYes}},
        Case{"None", {{"SLURM_JOB_GPUS", ""}}, {kNo, kNo, kNo, kNo}},
        Case{"NoDevFiles", {{"CUDA_VISIBLE_DEVICES", "NoDevFiles"}}, {kNo, kNo, kNo, kNo}},
        Case{"Uuid", {{"CUDA_VISIBLE_DEVICES", "GPU-10000000-aaaa"}}, {kNo, kYes, kNo, kNo}},
        Case{"BeginningOfUuid", {{"SLURM_JOB_GPUS", "GPU-2"}}, {kNo, kNo, kYes, kNo}},
        Case{"SlurmBeforeCuda",
             {{"SLURM_JOB_GPUS", "3"}, {"CUDA_VISIBLE_DEVICES", "0"}},
             {kNo, kNo, kNo, kYes}},
        Case{"CudasNumbersMayBeginAnew",
             {{"CUDA_VISIBLE_DEVICES", "0,1"}},
             {kPerhaps, kPerhaps, kPerhaps, kPerhaps}},
        Case{"CudasNumbersOfTheWholeNode",
             {{"CUDA_VISIBLE_DEVICES", "0,1,2,3"}},
             {kYes, kYes, kYes, kYes}},
        Case{"Nothing", {}, {kPerhaps, kPerhaps, kPerhaps, kPerhaps}},
        Case{"InstanceOfAGpu",
             {{"CUDA_VISIBLE_DEVICES", "MIG-GPU-10000000-aaaa/3/0"}},
             {kNo, kPerhaps, kNo, kNo}},
        Case{"NotAList", {{"SLURM_JOB_GPUS", "0,x"}}, {kYes, kPerhaps, kPerhaps, kPerhaps}},
        Case{"RangeThatRunsBackwards",
             {{"SLURM_JOB_GPUS", "3-1"}},
             {kPerhaps, kPerhaps, kPerhaps, kPerhaps}},
        Case{"RangeThatNeverEnds",
             {{"SLURM_JOB_GPUS", "0-4000000000"}},
             {kPerhaps, kPerhaps, kPerhaps, kPerhaps}}),
    [](const auto& one) { return one.param.name; });

TEST(JobGpusWithInstancesTest, MayBeAnyPartitionedGpu) {
  Snapshot node = four_gpus({{"SLURM_JOB_ID", "1"},
                             {"CUDA_VISIBLE_DEVICES", "MIG-5c89852c-d268-c3f3-1b07-005d5ae1dc3f"}});
  node.nvml->gpus[2].modes.mig = true;
  EXPECT_EQ(held(node), (std::vector{kNo, kNo, kPerhaps, kNo}));
}

TEST(JobGpusWithInstancesTest, DoNotTakeNumbersForGpus) {
  for (const Fact<bool>& mig : {Fact<bool>(true), Fact<bool>::unreadable("Unknown Error (999)")}) {
    for (const char* list : {"0-3", "0", "9"}) {
      Snapshot node = four_gpus({{"SLURM_JOB_ID", "1"}, {"SLURM_JOB_GPUS", list}});
      node.nvml->gpus[2].modes.mig = mig;
      EXPECT_EQ(held(node), (std::vector{kPerhaps, kPerhaps, kPerhaps, kPerhaps})) << list;
    }
    Snapshot by_uuid = four_gpus({{"SLURM_JOB_ID", "1"}, {"SLURM_JOB_GPUS", "GPU-1"}});
    by_uuid.nvml->gpus[2].modes.mig = mig;
    EXPECT_EQ(held(by_uuid), (std::vector{kNo, kYes, kNo, kNo}));
  }
}

TEST(JobGpusOfAllTest, AreNotAllIfOneIsLost) {
  const Snapshot node = four_gpus({{"SLURM_JOB_ID", "1"}, {"SLURM_JOB_GPUS", "4-7"}});
  EXPECT_EQ(held(node), (std::vector{kNo, kNo, kNo, kNo}));
  // NVML has lost one GPU of four, and the job holds another three.
  Snapshot fewer = four_gpus({{"SLURM_JOB_ID", "1"}, {"SLURM_JOB_GPUS", "1-3"}});
  fewer.nvml->gpus.pop_back();
  EXPECT_EQ(held(fewer), (std::vector{kNo, kYes, kYes}));
}

TEST(JobGpusInAnotherOrderTest, AreCertainIfFilesAndAddressesAgree) {
  Snapshot node = four_gpus({{"SLURM_JOB_ID", "1"}, {"SLURM_JOB_GPUS", "0,1"}});
  node.nvml->gpus[1].minor = 2U;
  node.nvml->gpus[2].minor = 1U;
  EXPECT_EQ(held(node), (std::vector{kYes, kPerhaps, kPerhaps, kNo}));
}

TEST(JobGpusWithoutUuidTest, MayBeTheListedOne) {
  Snapshot node = four_gpus({{"SLURM_JOB_ID", "1"}, {"SLURM_JOB_GPUS", "GPU-00000000-aaaa"}});
  node.nvml->gpus[3].uuid = Fact<std::string>::unreadable("Unknown Error (999)");
  EXPECT_EQ(held(node), (std::vector{kYes, kNo, kNo, kPerhaps}));
}

TEST(JobGpusWithoutJobTest, AreAllGpus) {
  const Snapshot node = four_gpus({{"CUDA_VISIBLE_DEVICES", "0"}});
  EXPECT_EQ(held(node), (std::vector{kYes, kYes, kYes, kYes}));
  EXPECT_EQ(find_job_gpus(node).job, "");
}

TEST(JobGpusWithoutEnvironmentTest, AreUncertain) {
  Snapshot node = four_gpus({});
  node.environment = {.status = Status::timeout, .reason = "no answer within 2 s"};
  EXPECT_EQ(held(node), (std::vector{kPerhaps, kPerhaps, kPerhaps, kPerhaps}));
  EXPECT_EQ(find_job_gpus(node).doubt, "the environment is unknown: no answer within 2 s");
}

TEST(JobGpusDoubtTest, QuotesTheVariable) {
  EXPECT_EQ(
      find_job_gpus(four_gpus({{"SLURM_JOB_ID", "1"}, {"CUDA_VISIBLE_DEVICES", "0,1"}})).doubt,
      "CUDA_VISIBLE_DEVICES is 0,1");
  EXPECT_EQ(find_job_gpus(four_gpus({{"SLURM_JOB_ID", "1"}})).doubt,
            "neither SLURM_JOB_GPUS nor CUDA_VISIBLE_DEVICES is set");
}

}  // namespace
}  // namespace muster
