// SPDX-License-Identifier: Apache-2.0
#include "lib/profile/job_limit.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace muster {
namespace {

JobLimit limit(BenchAlgorithm algorithm, int nodes_at_least, double gbps) {
  return {.algorithm = algorithm,
          .nodes_at_least = nodes_at_least,
          .fail_below = BytesPerSecond{gbps * 1e9}};
}

JobLimit over(BenchOver network, double gbps) {
  auto made = limit(BenchAlgorithm::any, 2, gbps);
  made.over = network;
  return made;
}

// In GB/s; 0 without a limit.
double limit_of(const std::vector<JobLimit>& limits, const JobConditions& job,
                bool failing = false) {
  const auto* found = limit_of_job(limits, job, failing);
  return found == nullptr ? 0 : found->fail_below.value_or(BytesPerSecond{}).value / 1e9;
}

TEST(JobLimitTest, PrefersTheAlgorithmThenTheMostNodesThenTheLowest) {
  const std::vector<JobLimit> limits{
      limit(BenchAlgorithm::any, 2, 100), limit(BenchAlgorithm::ring, 3, 180),
      limit(BenchAlgorithm::any, 4, 130), limit(BenchAlgorithm::any, 4, 120)};
  EXPECT_EQ(limit_of(limits, {.nodes = 2, .algorithm = "ring"}), 100);
  EXPECT_EQ(limit_of(limits, {.nodes = 64, .algorithm = "ring"}), 180);
  EXPECT_EQ(limit_of(limits, {.nodes = 64, .algorithm = "tree"}), 120);
  EXPECT_EQ(limit_of(limits, {.nodes = 64}), 120);
}

TEST(JobLimitTest, IsTheLowestIfAllAreForOtherAlgorithms) {
  const std::vector<JobLimit> limits{limit(BenchAlgorithm::ring, 8, 180),
                                     limit(BenchAlgorithm::tree, 2, 110)};
  EXPECT_EQ(limit_of(limits, {.nodes = 16}), 110);
  EXPECT_FALSE(fits_algorithm(limits[0], ""));
}

TEST(JobLimitTest, IsForTheNumberOfNodesAndTheMemory) {
  auto few = limit(BenchAlgorithm::any, 2, 200);
  few.nodes_at_most = 4;
  auto on_hosts = limit(BenchAlgorithm::any, 2, 20);
  on_hosts.memory = BenchMemory::host;
  const std::vector<JobLimit> limits{few, on_hosts};
  EXPECT_EQ(limit_of(limits, {.nodes = 4}), 200);
  EXPECT_EQ(limit_of(limits, {.nodes = 5}), 0);
  EXPECT_EQ(limit_of(limits, {.nodes = 5, .memory = BenchMemory::host}), 20);
}

TEST(JobLimitTest, IsForTheNetworkThatNodesOfOneDomainMustUse) {
  const std::vector<JobLimit> limits{over(BenchOver::nvlink, 500), over(BenchOver::infiniband, 150),
                                     limit(BenchAlgorithm::any, 2, 90)};
  EXPECT_EQ(limit_of(limits, {.one_domain = true, .over = "infiniband"}), 500);
  EXPECT_EQ(limit_of(limits, {.one_domain = true}), 500);
  EXPECT_EQ(limit_of({limits[1]}, {.one_domain = true}), 150);
  EXPECT_EQ(limit_of({limits[0]}, {.over = "nvlink"}), 500);
  EXPECT_EQ(limit_of({limits[1]}, {.over = "nvlink"}), 0);
  EXPECT_EQ(limit_of({limits[0]}, {}), 0);
  EXPECT_EQ(limit_of({limits[1]}, {}), 150);
}

TEST(JobLimitTest, MayHaveToFailAJob) {
  auto expected_only = limit(BenchAlgorithm::ring, 3, 180);
  expected_only.fail_below.reset();
  const std::vector<JobLimit> limits{expected_only, limit(BenchAlgorithm::any, 2, 100)};
  EXPECT_EQ(limit_of(limits, {.nodes = 4, .algorithm = "ring"}), 0);
  EXPECT_EQ(limit_of(limits, {.nodes = 4, .algorithm = "ring"}, true), 100);
}

}  // namespace
}  // namespace muster
