// SPDX-License-Identifier: Apache-2.0
#include "slurm/sweeps/sweep_pass.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "lib/report/verdict.hpp"
#include "tests/slurm/sweeps/sweep_passes.hpp"

namespace muster::slurm {
namespace {

using namespace std::chrono_literals;  // NOLINT(google-build-using-namespace): literals only
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;

TEST_F(SweepPassTest, SubmitsWhatIsPlannedAndRemembersIt) {
  const auto answer = pass();
  EXPECT_EQ(answer.trouble, "");
  EXPECT_THAT(told, ElementsAre("submitted n[001-002] 101: pair in gpu",
                                "submitted n[003-004] 102: pair in gpu"));
  EXPECT_THAT(queue.submitted, SizeIs(2));
  EXPECT_THAT(queue.submitted[1], Contains("--nodelist=n003,n004"));
  const auto runs = history.sweeps();
  ASSERT_THAT(*runs, SizeIs(2));
  EXPECT_EQ((*runs)[0].job, "101");
  EXPECT_EQ((*runs)[0].token, "pair-1");
  EXPECT_THAT(answer.standings, SizeIs(4));
  EXPECT_THAT(remembered(), IsEmpty());
  pass();
  EXPECT_THAT(told, IsEmpty());  // they have not ended
}

TEST_F(SweepPassTest, TakesInResultsAndRemovesThoseOfHealthyNodes) {
  pass();
  leave("pair-1", Verdict::healthy);
  leave("pair-2", Verdict::unhealthy, "1 GB/s, expected 2");
  queue.trouble = "nobody is asked where all have left a result";
  const auto answer = pass();
  EXPECT_EQ(answer.trouble, "");
  EXPECT_THAT(told,
              AllOf(SizeIs(6), Contains("sweep n001 101: pair with n002: healthy: 1 of 1 check"),
                    Contains("sweep n004 102: pair with n003: unhealthy: bench.min_busbw job: "
                             "1 GB/s, expected 2, "
                             "1 of 1 check")));
  EXPECT_THAT(remembered(), ElementsAre("sweep n001", "sweep n002", "sweep n003", "sweep n004"));
  EXPECT_EQ(history.events({.nodes = {"n003"}})->front().check, "bench.min_busbw");
  EXPECT_FALSE(exists("pair-1.json") || exists("pair-1.out"));
  EXPECT_TRUE(exists("pair-2.json") && exists("pair-2.out"));
  // The suspects come first, with those that passed.
  EXPECT_THAT(queue.submitted[2], Contains("--nodelist=n003,n001"));
  EXPECT_THAT(queue.submitted[3], Contains("--nodelist=n004,n002"));
}

TEST_F(SweepPassTest, ConfirmsANodeOnceAndClearsItWhenItPasses) {
  rules.partners = 2;
  rules.most_jobs = 1;
  const auto run = [&](std::vector<std::string> nodes, Verdict verdict) {
    SweepRun open{.kind = "pair",
                  .partition = "gpu",
                  .nodes = std::move(nodes),
                  .token = fmt::format("by-hand-{}", ++tokens),
                  .job = "7",
                  .submitted = cluster.now()};
    EXPECT_TRUE(history.begin_sweep(open));
    leave(open.token, verdict);
    cluster.pass(60s);
    for (const auto* node : {"n001", "n002", "n003", "n004"}) {
      cluster.node(node).state = "allocated";
    }
    return pass();
  };
  static_cast<void>(run({"n001", "n002"}, Verdict::unhealthy));
  static_cast<void>(run({"n002", "n004"}, Verdict::healthy));
  static_cast<void>(run({"n001", "n003"}, Verdict::unhealthy));
  EXPECT_THAT(remembered(), Not(Contains("confirmed n001")));
  auto answer = run({"n003", "n004"}, Verdict::healthy);
  EXPECT_THAT(told,
              Contains("confirmed n001 : pair: it failed with n002, n003, and others pass without "
                       "it"));
  const auto confirmed = [&] {
    return std::ranges::count(answer.standings, Trust::confirmed, &SweepStanding::trust);
  };
  EXPECT_EQ(confirmed(), 1);
  answer = run({"n001", "n004"}, Verdict::unhealthy);
  EXPECT_EQ(std::ranges::count(remembered(), "confirmed n001"), 1);
  EXPECT_EQ(confirmed(), 1);
  answer = run({"n001", "n002"}, Verdict::healthy);
  EXPECT_THAT(told, Contains("cleared n001 : pair with n002: it passed"));
  EXPECT_EQ(confirmed(), 0);
}

// A report of `muster-bench locate`: who is accused, and what failed beside.
std::string report_of_search(const std::vector<std::string>& accused, std::string_view other = "") {
  Report report{.node = "whoever", .context = "manual", .accused = accused, .checks = {}};
  for (const auto& node : accused) {
    report.findings.push_back({.check = "bench.locate",
                               .device = node,
                               .outcome = Outcome::fail,
                               .message = "HCA 3: 93.5 GB/s"});
  }
  if (!other.empty()) {
    report.findings.push_back({.check = "bench.locate",
                               .device = std::string(other),
                               .outcome = Outcome::fail,
                               .message = "the path between the two is slow"});
  }
  if (report.findings.empty()) {
    report.findings.push_back({.check = "bench.locate", .device = "job"});
    report.findings.back().outcome = Outcome::pass;
  }
  conclude(report, {"bench.locate"});
  return to_json(report);
}

TEST_F(SweepPassTest, ASearchBlamesTheAccusedAloneAndTwoOfThemConfirm) {
  rules.kinds = {"locate"};
  pass();
  ASSERT_THAT(told, ElementsAre("submitted n[001-004] 101: locate in gpu"));
  EXPECT_THAT(queue.submitted[0], AllOf(Contains("locate"), Not(Contains("--min-busbw=1GB/s"))));
  dir.write("results/locate-1.json", report_of_search({"n003"}));
  cluster.pass(60s);
  auto answer = pass();
  EXPECT_EQ(answer.trouble, "");
  EXPECT_THAT(told,
              AllOf(Contains("sweep n001 101: locate with n002, n004: healthy without n003"),
                    Contains(HasSubstr("sweep n003 101: locate: unhealthy: bench.locate n003"))));
  EXPECT_TRUE(exists("locate-1.json"));
  EXPECT_EQ(answer.standings[0].trust, Trust::good);
  EXPECT_EQ(answer.standings[2].trust, Trust::suspect);
  // The suspect is searched for again, with the others; what was taken in holds after a restart.
  EXPECT_THAT(queue.submitted[1], Contains("--nodelist=n003,n001,n002,n004"));
  dir.write("results/locate-2.json", report_of_search({"n003"}));
  cluster.pass(60s);
  answer = pass();
  EXPECT_THAT(told, Contains(StartsWith("confirmed n003")));
  EXPECT_EQ(answer.standings[2].trust, Trust::confirmed);
  EXPECT_EQ(answer.standings[3].trust, Trust::good);
}

TEST_F(SweepPassTest, ASearchThatFindsALinkOrNothingBlamesNobody) {
  rules.kinds = {"locate"};
  pass();
  dir.write("results/locate-1.json", report_of_search({}, "n001-n002"));
  cluster.pass(60s);
  const auto answer = pass();
  EXPECT_THAT(told, Contains(HasSubstr("undecided: no node is to blame alone: unhealthy")));
  for (const auto& standing : answer.standings) EXPECT_EQ(standing.trust, Trust::untested);
  cluster.pass(2h);
  pass();
  dir.write("results/locate-2.json", report_of_search({}));
  cluster.pass(60s);
  for (const auto& standing : pass().standings) EXPECT_EQ(standing.trust, Trust::good);
}

TEST_F(SweepPassTest, AClockThatRanAheadStopsNothing) {
  cluster.pass(100h);
  pass();
  leave("pair-1", Verdict::healthy);
  leave("pair-2", Verdict::healthy);
  pass();
  EXPECT_THAT(queue.submitted, SizeIs(2));
  cluster.pass(-99h);
  pass();
  EXPECT_THAT(queue.submitted, SizeIs(4));
}

TEST_F(SweepPassTest, RunsThatComeToNothingAreTroubleOnce) {
  rules.most_jobs = 1;
  for (const auto* node : {"n003", "n004"}) cluster.node(node).state = "allocated";
  pass();
  std::vector<std::ptrdiff_t> troubles;
  for (int run = 1; run <= 5; ++run) {
    dir.write(fmt::format("results/pair-{}.json", run), "{}");
    pass();
    troubles.push_back(std::ranges::count(remembered(), "trouble n[001-002]"));
    cluster.pass(100h);
    pass();
  }
  EXPECT_THAT(troubles, ElementsAre(0, 0, 1, 1, 1));
  const auto events = history.events({});
  const auto trouble = std::ranges::find(*events, "trouble", &Event::kind);
  EXPECT_THAT(trouble->message,
              StartsWith("pair: 3 runs in a row came to nothing; the last was undecided: its "
                         "result cannot be read: "));
}

TEST_F(SweepPassTest, AKindThatIsTakenOutLeavesNoSuspects) {
  pass();
  leave("pair-1", Verdict::unhealthy);
  pass();
  rules.kinds = {"single"};
  leave("pair-2", Verdict::unhealthy);
  const auto answer = pass();
  EXPECT_THAT(told, Contains(StartsWith("sweep n003 102: pair with n004: unhealthy: ")));
  ASSERT_THAT(answer.standings, SizeIs(4));
  for (const auto& standing : answer.standings) EXPECT_EQ(standing.trust, Trust::untested);
}

// Slurm takes no job away that an admin holds.
TEST_F(SweepPassTest, AJobThatIsHeldTakesNoPlaceForEver) {
  pass();
  cluster.pass(1200s);
  pass();
  EXPECT_THAT(told, IsEmpty());
  cluster.pass(1s);
  pass();
  EXPECT_THAT(told,
              Contains("sweep n001 101: pair with n002: undecided: somebody holds the job in the "
                       "queue"));
}

TEST_F(SweepPassTest, AJobThatSlurmTookWithoutAnAnswerIsFound) {
  queue.refusal = "sbatch did not answer within 12 s";
  queue.takes_it_late = true;
  auto answer = pass();
  EXPECT_EQ(answer.trouble, "sbatch did not answer within 12 s");
  EXPECT_THAT(queue.submitted, SizeIs(1));  // the next one would not be answered either
  EXPECT_THAT(told,
              ElementsAre("trouble n[001-002] : pair in gpu: sbatch did not answer within 12 s"));
  EXPECT_THAT(remembered(), ElementsAre("trouble n[001-002]"));
  queue.refusal = "";
  answer = pass();
  EXPECT_EQ(answer.trouble, "");
  EXPECT_THAT(told, ElementsAre("submitted n[003-004] 102: pair in gpu"));
  EXPECT_EQ(history.sweeps()->front().job, "101");
}

TEST_F(SweepPassTest, AJobThatSlurmDidNotTakeIsGivenUp) {
  queue.refusal = "sbatch ended with status 1: Socket timed out on send/recv operation";
  pass();
  queue.refusal = "";
  pass();
  cluster.pass(599s);
  pass();
  EXPECT_THAT(told, IsEmpty());  // it may still come
  cluster.pass(1s);
  pass();
  EXPECT_THAT(told, Contains("sweep n001 : pair with n002: undecided: Slurm did not take the job"));
}

TEST_F(SweepPassTest, AJobThatSlurmRefusesIsOverAtOnceAndTheNextIsTried) {
  queue.refused = "--nodelist=n001,n002";
  const auto answer = pass();
  EXPECT_EQ(answer.trouble, "");
  EXPECT_THAT(
      told, ElementsAre("sweep n001 : pair with n002: undecided: sbatch ended with status 1: Batch "
                        "job submission failed: Requested node configuration is not available",
                        StartsWith("sweep n002 : pair with n001: undecided: "),
                        "submitted n[003-004] 102: pair in gpu"));
  EXPECT_THAT(outcomes(), ElementsAre(SweepOutcome::undecided, SweepOutcome::open));
}

TEST_F(SweepPassTest, AfterTwoRefusalsThePassIsOver) {
  rules.kinds = {"single"};
  queue.refusal = FakeQueue::kRefusal;
  const auto answer = pass();
  EXPECT_EQ(answer.trouble, FakeQueue::kRefusal);
  EXPECT_THAT(queue.submitted, SizeIs(2));
  EXPECT_THAT(remembered(), ElementsAre("sweep n001", "sweep n002", "trouble n002"));
  EXPECT_THAT(outcomes(), ElementsAre(SweepOutcome::undecided, SweepOutcome::undecided));
}

TEST_F(SweepPassTest, ADryRunChangesNothing) {
  pass();
  leave("pair-1", Verdict::unhealthy);
  leave("pair-2", Verdict::healthy);
  const auto before = *history.sweeps();
  const auto answer = pass(true);
  EXPECT_EQ(answer.trouble, "");
  EXPECT_THAT(told,
              AllOf(Contains(StartsWith("dry_run n001 101: would be taken in: sweep: pair with "
                                        "n002: unhealthy: ")),
                    Contains("dry_run n[001,003] : would be submitted: pair in gpu"),
                    Contains("dry_run n[002,004] : would be submitted: pair in gpu")));
  EXPECT_EQ(*history.sweeps(), before);
  EXPECT_THAT(remembered(), IsEmpty());
  EXPECT_THAT(queue.submitted, SizeIs(2));
  EXPECT_TRUE(exists("pair-1.json") && exists("pair-2.json"));
}

TEST_F(SweepPassTest, WithoutAHistoryADryRunPlansTheFirstPass) {
  auto first = hands();
  first.history = nullptr;
  const auto answer = sweep({.rules = rules, .now = cluster.now(), .dry_run = true}, first);
  EXPECT_EQ(answer.trouble, "");
  EXPECT_THAT(told, SizeIs(2));
}

TEST_F(SweepPassTest, AFolderThatIsNotThereHasLostNoResults) {
  pass();
  queue.queued.clear();
  rules.results = (dir.path() / "not mounted").string();
  const auto answer = pass();
  EXPECT_THAT(answer.trouble, HasSubstr("slurm.sweep.results in muster.yaml must be a folder"));
  EXPECT_THAT(outcomes(), ElementsAre(SweepOutcome::open, SweepOutcome::open));
  EXPECT_THAT(queue.submitted, SizeIs(2));
}

TEST_F(SweepPassTest, WhereSlurmDoesNotAnswerNothingIsDone) {
  cluster.be(FakeCluster::Health::dead);
  const auto answer = pass();
  EXPECT_THAT(answer.trouble, HasSubstr("Unable to contact slurm controller"));
  EXPECT_THAT(queue.submitted, IsEmpty());
  cluster.be(FakeCluster::Health::well);
  pass();
  queue.trouble = "squeue ended with status 1: Unable to contact slurm controller";
  EXPECT_EQ(pass().trouble, queue.trouble);
  EXPECT_THAT(outcomes(), ElementsAre(SweepOutcome::open, SweepOutcome::open));
}

TEST_F(SweepPassTest, NodesThatAnybodyDrainedAreLeftAlone) {
  cluster.drain("n001", "muster: gpu.present gpu3: it is gone");
  cluster.drain("n003", "disk swap", "alice");
  pass();
  EXPECT_THAT(told, ElementsAre("submitted n[002,004] 101: pair in gpu"));
}

TEST_F(SweepPassTest, WhichPartitionsIsTheSitesToSay) {
  cluster.node("n002").partitions = {"cpu"};
  EXPECT_EQ(pass().bad_rules, "slurm.sweep.partitions in muster.yaml must say which of cpu, gpu");
  rules.partitions = {"gpu"};
  EXPECT_EQ(pass().bad_rules, "");
  EXPECT_THAT(told, ElementsAre("submitted n[001,003] 101: pair in gpu"));
}

TEST_F(SweepPassTest, StatusAsksAndDoesNothing) {
  leave("pair-1", Verdict::healthy);
  const auto answer = sweep_status({.rules = rules, .now = cluster.now()}, hands());
  EXPECT_THAT(answer.standings, SizeIs(4));
  EXPECT_TRUE(answer.standings.front().overdue);
  EXPECT_THAT(told, IsEmpty());
  EXPECT_THAT(queue.submitted, IsEmpty());
}

}  // namespace
}  // namespace muster::slurm
