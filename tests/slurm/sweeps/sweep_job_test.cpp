// SPDX-License-Identifier: Apache-2.0
#include "slurm/sweeps/sweep_job.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <tuple>

#include "lib/report/bench_checks.hpp"

namespace muster::slurm {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

TEST(SweepJobTest, HasLowPriorityAndADeadline) {
  SweepJob job{.kind = "locate", .partition = "main", .nodes = {"n1", "n2"}, .token = "locate-1"};
  SweepRules rules;
  rules.results = "/shared/sweep";
  rules.time = Seconds{120};
  rules.account = "ops";
  rules.qos = "low";
  rules.options = {"--gpus-per-node=4"};
  rules.bench = {"--size=1GiB"};
  rules.script = "sweep.sbatch";
  EXPECT_THAT(
      sbatch_arguments(job, rules).value(),
      ElementsAre("--parsable", "--job-name=muster-sweep-locate", "--comment=locate-1",
                  "--nodelist=n1,n2", "--nodes=2", "--exclusive", "--nice=10000", "--time=2",
                  "--deadline=now+12minutes", "--no-requeue", "--partition=main",
                  "--chdir=/shared/sweep", "--output=/shared/sweep/locate-1.out", "--account=ops",
                  "--qos=low", "--gpus-per-node=4", "sweep.sbatch", "locate", "--format=json",
                  "--output=/shared/sweep/locate-1.json", "--size=1GiB"));
  job.nodes = {"n1", "n[2-9]"};
  EXPECT_EQ(sbatch_arguments(job, rules).error().message, "\"n[2-9]\" is not the name of one node");
}

TEST(SweepJobTest, ANodeIsFoundByItsHost) {
  const Report report{.verdict = Verdict::unhealthy,
                      .accused = {"host3"},
                      .findings = {{.check = "bench.locate",
                                    .device = "host3",
                                    .outcome = Outcome::fail,
                                    .message = "slow"}}};
  const SweepJob job{.kind = "locate", .nodes = {"n001", "n003"}};
  const auto verdicts = sweep_verdicts(job, report, {{"n001", "host1"}, {"n003", "host3"}});
  ASSERT_THAT(verdicts, SizeIs(2));
  EXPECT_EQ(verdicts[0].verdict, Verdict::healthy);
  EXPECT_EQ(verdicts[1].verdict, Verdict::unhealthy);
}

TEST(SweepJobTest, AHealthyReportWithoutABandwidthIsUndecided) {
  const SweepJob job{.kind = "node", .nodes = {"n001"}};
  for (const auto& [check, outcome, verdict] :
       {std::tuple{"bench.hca_write", Outcome::pass, Verdict::healthy},
        {"bench.job_all_reduce", Outcome::warn, Verdict::healthy},
        {"bench.job_all_reduce", Outcome::skip, Verdict::unknown},
        {"bench.in_use", Outcome::pass, Verdict::unknown},
        {"bench.data", Outcome::pass, Verdict::unknown},
        {"gpu.present", Outcome::pass, Verdict::unknown}}) {
    const Report report{.verdict = Verdict::healthy, .checks = {{check, outcome}}};
    EXPECT_EQ(sweep_verdicts(job, report, {}).at(0).verdict, verdict) << check;
  }
  for (const auto id : kBandwidthChecks) {
    EXPECT_TRUE(judges_nodes({.checks = {{std::string(id), Outcome::pass}}})) << id;
  }
}

}  // namespace
}  // namespace muster::slurm
