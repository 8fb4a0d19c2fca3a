// SPDX-License-Identifier: Apache-2.0
// Passes over a cluster and a queue in memory. Reports are files, as jobs leave them.
#include "slurm/sweeps/sweep_pass.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>

#include "lib/report/format.hpp"
#include "lib/report/summary.hpp"
#include "tests/slurm/fake_controller.hpp"
#include "tests/support/temp_dir.hpp"

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

class FakeQueue final : public Queue {
 public:
  Result<std::vector<QueuedJob>> jobs(const std::vector<std::string>& names) override {
    EXPECT_THAT(names, ElementsAre("muster-sweep-locate", "muster-sweep-node"));
    if (!trouble.empty()) return make_error(trouble);
    return queued;
  }

  Result<std::string> submit(const std::vector<std::string>& arguments,
                             const std::map<std::string, std::string>& /*environment*/) override {
    submitted.push_back(arguments);
    constexpr std::string_view kComment = "--comment=";
    const auto comment = std::ranges::find_if(
        arguments, [&](const std::string& word) { return word.starts_with(kComment); });
    const auto job = fmt::format("{}", 100 + submitted.size());
    if (!refused.empty() && std::ranges::count(arguments, refused) > 0) return make_error(kRefusal);
    if (error.empty() || takes_it_late) {
      queued.push_back({.job = job,
                        .state = "PENDING",
                        .ended = std::nullopt,
                        .comment = comment->substr(kComment.size())});
    }
    if (!error.empty()) return make_error(error);
    return job;
  }

  std::vector<QueuedJob> queued;
  std::vector<std::vector<std::string>> submitted;
  std::string trouble, error;
  std::string refused;  // an argument of the job that sbatch refuses
  static constexpr auto kRefusal =
      "sbatch ended with status 1: Batch job submission failed: Requested node configuration is "
      "not available";
  bool takes_it_late = false;
};

class SweepPassTest : public ::testing::Test {
 protected:
  SweepPassTest() {
    std::filesystem::create_directory(dir.path() / "results");
    rules.results = dir.path("results");
    rules.kinds = {"node"};
    rules.script = "/usr/share/muster/jobs/sweep.sbatch";
    rules.most_jobs = 2;
    rules.bench = {"--min-busbw=1GB/s"};
  }

  SweepResult pass(bool dry_run = false) {
    printed.clear();
    return sweep({.rules = rules, .now = cluster.now(), .dry_run = dry_run}, services());
  }

  SweepServices services() {
    return {.controller = &controller,
            .queue = &queue,
            .history = &history,
            .token = [this] { return fmt::format("{}", ++tokens); },
            .report_event =
                [this](const Event& event) {
                  printed.push_back(fmt::format("{} {} {}: {}", event.kind, event.node, event.job,
                                                event.message));
                }};
  }

  // The events of these kinds in the history, as "kind node".
  [[nodiscard]] std::vector<std::string> recorded(const std::vector<std::string>& kinds = {
                                                      "sweep", "confirmed", "cleared",
                                                      "trouble"}) const {
    std::vector<std::string> lines;
    const auto events = history.events({.kinds = kinds});
    for (const auto& event : events.value()) {
      lines.push_back(fmt::format("{} {}", event.kind, event.node));
    }
    return lines;
  }

  [[nodiscard]] SweepLog log() const {
    return read_sweep_log(history, Time{}, cluster.now()).value_or(SweepLog());
  }

  // Leaves the report of the job with this token.
  void leave(std::string_view token, Verdict verdict, std::string message = "1 GB/s") const {
    const auto outcome = verdict == Verdict::healthy ? Outcome::pass : Outcome::fail;
    Report report{.node = "n001", .context = "manual", .verdict = verdict};
    report.checks.push_back({.id = "bench.hca_write", .outcome = outcome});
    if (verdict == Verdict::unhealthy) {
      report.findings.push_back({.check = "bench.hca_write",
                                 .device = "mlx5_ib3",
                                 .outcome = outcome,
                                 .message = std::move(message)});
    }
    dir.write(fmt::format("results/{}.json", token), to_json(report));
    dir.write(fmt::format("results/{}.out", token), "the table\n");
  }

  // Leaves a report of `muster-bench locate`, with a failed finding about `other` if that is set.
  void leave_search(std::string_view token, const std::vector<std::string>& accused,
                    std::string_view other = "") const {
    Report report{
        .context = "manual", .nodes = {"n001", "n002", "n003", "n004"}, .accused = accused};
    auto failed = accused;
    if (!other.empty()) failed.emplace_back(other);
    for (const auto& device : failed) {
      report.findings.push_back({.check = "bench.locate",
                                 .device = device,
                                 .outcome = Outcome::fail,
                                 .message = "HCA 3: 93.5 GB/s"});
    }
    if (failed.empty()) {
      report.findings.push_back(
          {.check = "bench.locate", .device = "job", .outcome = Outcome::pass});
    }
    conclude(report, {"bench.locate"});
    dir.write(fmt::format("results/{}.json", token), to_json(report));
  }

  [[nodiscard]] bool exists(std::string_view name) const {
    return std::filesystem::exists(dir.path() / "results" / name);
  }

  TempDir dir;
  FakeCluster cluster{4};
  FakeController controller{cluster};
  FakeQueue queue;
  History history = *History::open(dir.path() / "events.jsonl");
  SweepRules rules;
  std::vector<std::string> printed;
  int tokens = 0;
};

TEST_F(SweepPassTest, SubmitsThePlanAndRecordsIt) {
  const auto result = pass();
  EXPECT_EQ(result.trouble, "");
  EXPECT_THAT(printed,
              ElementsAre("submitted n001 101: node in gpu", "submitted n002 102: node in gpu"));
  EXPECT_THAT(queue.submitted[1],
              AllOf(Contains("--nodelist=n002"), Contains("--ntasks-per-node=1"),
                    Not(Contains("--min-busbw=1GB/s"))));
  ASSERT_THAT(log().open, SizeIs(2));
  EXPECT_EQ(log().open[0].number, "101");
  EXPECT_EQ(log().open[0].token, "node-1");
  EXPECT_THAT(result.standings, SizeIs(4));
  pass();
  EXPECT_THAT(printed, IsEmpty());  // they have not ended
}

TEST_F(SweepPassTest, CollectsReportsAndRemovesThoseOfHealthyNodes) {
  pass();
  leave("node-1", Verdict::healthy);
  leave("node-2", Verdict::unhealthy, "1 GB/s, expected 2");
  queue.trouble = "not asked for jobs that have left a report";
  const auto result = pass();
  EXPECT_EQ(result.trouble, "");
  EXPECT_THAT(printed, AllOf(SizeIs(4), Contains("sweep n001 101: node: healthy: 1 of 1 check"),
                             Contains(StartsWith("sweep n002 102: node: unhealthy: "
                                                 "bench.hca_write mlx5_ib3: 1 GB/s, expected 2"))));
  EXPECT_THAT(recorded(), ElementsAre("sweep n001", "sweep n002"));
  const auto event = history.events({.nodes = {"n002"}, .kinds = {"sweep"}})->front();
  EXPECT_EQ(event.check, "bench.hca_write");
  EXPECT_EQ(event.device, "mlx5_ib3");
  EXPECT_FALSE(exists("node-1.json") || exists("node-1.out"));
  EXPECT_TRUE(exists("node-2.json") && exists("node-2.out"));
  EXPECT_THAT(queue.submitted[2], Contains("--nodelist=n002"));  // the suspect comes first
}

TEST_F(SweepPassTest, ConfirmsANodeOnceAndClearsItWhenItPasses) {
  rules.most_jobs = 4;
  const auto run = [&](Verdict verdict) {
    pass();
    for (int token = 1; token <= tokens; ++token) {
      leave(fmt::format("node-{}", token), Verdict::healthy);
    }
    const auto open = log().open;
    const auto own = std::ranges::find(open, std::vector<std::string>{"n001"}, &SweepJob::nodes);
    ASSERT_NE(own, open.end());
    leave(own->token, verdict);
    cluster.pass(100h);
    pass();
  };
  run(Verdict::unhealthy);
  EXPECT_THAT(recorded(), Not(Contains("confirmed n001")));
  leave("node-5", Verdict::unhealthy);
  cluster.pass(60s);
  const auto result = pass();
  EXPECT_THAT(printed,
              Contains(StartsWith("confirmed n001 : node: it failed 2 times in a row while "
                                  "others passed: unhealthy: bench.hca_write")));
  EXPECT_EQ(std::ranges::count(result.standings, Trust::confirmed, &SweepStanding::trust), 1);
  cluster.pass(100h);
  run(Verdict::healthy);
  EXPECT_EQ(std::ranges::count(recorded(), "confirmed n001"), 1);
  EXPECT_THAT(recorded(), Contains("cleared n001"));
}

TEST_F(SweepPassTest, ASearchFailsTheAccusedAndPassesTheOthers) {
  rules.kinds = {"locate"};
  pass();
  ASSERT_THAT(printed, ElementsAre("submitted n[001-004] 101: locate in gpu"));
  EXPECT_THAT(queue.submitted[0], AllOf(Contains("locate"), Contains("--min-busbw=1GB/s"),
                                        Not(Contains("--ntasks-per-node=1"))));
  leave_search("locate-1", {"n003"});
  cluster.pass(60s);
  auto result = pass();
  EXPECT_THAT(printed,
              AllOf(Contains("sweep n001 101: locate: healthy: other nodes are accused"),
                    Contains(HasSubstr("sweep n003 101: locate: unhealthy: bench.locate"))));
  EXPECT_EQ(result.standings[0].trust, Trust::good);
  EXPECT_EQ(result.standings[2].trust, Trust::suspect);
  EXPECT_THAT(queue.submitted[1], Contains("--nodelist=n003,n001,n002,n004"));
  leave_search("locate-2", {"n003"});
  cluster.pass(60s);
  result = pass();
  EXPECT_THAT(printed, Contains(StartsWith("confirmed n003")));
  EXPECT_EQ(result.standings[2].trust, Trust::confirmed);
}

TEST_F(SweepPassTest, ASearchThatFindsALinkDecidesNothingAboutOtherNodes) {
  rules.kinds = {"locate"};
  pass();
  leave_search("locate-1", {"n003"}, "n001-n002");
  cluster.pass(60s);
  auto result = pass();
  EXPECT_THAT(printed, Contains(HasSubstr("undecided: no single node is accused: unhealthy")));
  EXPECT_EQ(result.standings[0].trust, Trust::untested);
  EXPECT_EQ(result.standings[2].trust, Trust::suspect);
  cluster.pass(2h);
  pass();
  leave_search("locate-2", {});
  cluster.pass(60s);
  for (const auto& standing : pass().standings) EXPECT_EQ(standing.trust, Trust::good);
}

TEST_F(SweepPassTest, RepeatedUndecidedVerdictsAreReportedOnce) {
  rules.most_jobs = 1;
  for (const auto* node : {"n002", "n003", "n004"}) cluster.node(node).state = "allocated";
  pass();
  std::vector<std::ptrdiff_t> troubles;
  for (int run = 1; run <= 5; ++run) {
    dir.write(fmt::format("results/node-{}.json", run), "{}");
    pass();
    troubles.push_back(std::ranges::count(recorded(), "trouble n001"));
    cluster.pass(100h);
    pass();
  }
  EXPECT_THAT(troubles, ElementsAre(0, 0, 1, 1, 1));
}

TEST_F(SweepPassTest, AJobThatSbatchDidNotReportIsFoundInTheQueue) {
  queue.error = "sbatch did not answer within 12 s";
  queue.takes_it_late = true;
  auto result = pass();
  EXPECT_EQ(result.trouble, queue.error);
  EXPECT_THAT(queue.submitted, SizeIs(1));  // the next one would not be answered either
  EXPECT_THAT(recorded(), ElementsAre("trouble n001"));
  queue.error = "";
  result = pass();
  EXPECT_EQ(result.trouble, "");
  EXPECT_THAT(printed, ElementsAre("submitted n002 102: node in gpu"));
  leave("node-1", Verdict::healthy);
  pass();
  EXPECT_THAT(printed, Contains(StartsWith("sweep n001 ")));
}

TEST_F(SweepPassTest, GivesUpAJobThatSlurmDidNotTake) {
  queue.error = "sbatch ended with status 1: Socket timed out on send/recv operation";
  pass();
  queue.error = "";
  pass();
  cluster.pass(599s);
  pass();
  EXPECT_THAT(printed, IsEmpty());  // it may still come
  cluster.pass(1s);
  pass();
  EXPECT_THAT(printed, Contains("sweep n001 : node: undecided: Slurm did not take the job"));
}

TEST_F(SweepPassTest, AfterARefusedJobTheNextIsTried) {
  queue.refused = "--nodelist=n001";
  EXPECT_EQ(pass().trouble, "");
  EXPECT_THAT(printed, ElementsAre(StartsWith("sweep n001 : node: undecided: sbatch ended with"),
                                   "submitted n002 102: node in gpu"));
  EXPECT_THAT(log().open, SizeIs(1));
}

TEST_F(SweepPassTest, AfterTwoRefusalsThePassEnds) {
  rules.most_jobs = 4;
  queue.error = FakeQueue::kRefusal;
  EXPECT_EQ(pass().trouble, FakeQueue::kRefusal);
  EXPECT_THAT(queue.submitted, SizeIs(2));
  EXPECT_THAT(recorded(), ElementsAre("sweep n001", "sweep n002", "trouble n002"));
  EXPECT_THAT(log().open, IsEmpty());
}

TEST_F(SweepPassTest, ADryRunChangesNothing) {
  pass();
  leave("node-1", Verdict::unhealthy);
  leave("node-2", Verdict::healthy);
  const auto before = history.events({})->size();
  EXPECT_EQ(pass(true).trouble, "");
  EXPECT_THAT(printed,
              AllOf(Contains(StartsWith("dry_run n001 101: would record sweep: node: unhealthy: ")),
                    Contains("dry_run n001 : would submit node in gpu"),
                    Contains("dry_run n003 : would submit node in gpu")));
  EXPECT_EQ(history.events({})->size(), before);
  EXPECT_THAT(queue.submitted, SizeIs(2));
  EXPECT_TRUE(exists("node-1.json") && exists("node-2.json"));
}

TEST_F(SweepPassTest, ADryRunNeedsNoHistory) {
  auto first = services();
  first.history = nullptr;
  EXPECT_EQ(sweep({.rules = rules, .now = cluster.now(), .dry_run = true}, first).trouble, "");
  EXPECT_THAT(printed, SizeIs(2));
}

TEST_F(SweepPassTest, AMissingFolderLosesNoReports) {
  pass();
  queue.queued.clear();
  rules.results = dir.path("not mounted");
  EXPECT_THAT(pass().trouble, HasSubstr("not mounted is not a folder"));
  EXPECT_THAT(log().open, SizeIs(2));
  EXPECT_THAT(queue.submitted, SizeIs(2));
}

TEST_F(SweepPassTest, DoesNothingIfSlurmDoesNotAnswer) {
  cluster.be(FakeCluster::Health::dead);
  EXPECT_THAT(pass().trouble, HasSubstr("Unable to contact slurm controller"));
  EXPECT_THAT(queue.submitted, IsEmpty());
  cluster.be(FakeCluster::Health::well);
  pass();
  queue.trouble = "squeue ended with status 1: Unable to contact slurm controller";
  EXPECT_EQ(pass().trouble, queue.trouble);
  EXPECT_THAT(log().open, SizeIs(2));
}

TEST_F(SweepPassTest, StatusChangesNothing) {
  leave("node-1", Verdict::healthy);
  const auto result = sweep_status({.rules = rules, .now = cluster.now()}, services());
  EXPECT_THAT(result.standings, SizeIs(4));
  EXPECT_TRUE(result.standings.front().overdue);
  EXPECT_THAT(printed, IsEmpty());
  EXPECT_THAT(queue.submitted, IsEmpty());
}

TEST_F(SweepPassTest, AReportIsNotTrusted) {
  pass();
  leave("node-1", Verdict::unhealthy, "'; rm -rf / `x` $(y)\n\x1b[31m * \"quoted\"");
  dir.write("results/node-2.json", std::string(9UL * 1024 * 1024, ' '));
  pass();
  const auto events = history.events({.kinds = {"sweep"}});
  ASSERT_THAT(*events, SizeIs(2));
  EXPECT_EQ((*events)[0].message,
            "node: unhealthy: bench.hca_write mlx5_ib3:, rm -rf / x y x0a x1b 31m quoted, 1 of 1 "
            "check");
  EXPECT_THAT((*events)[1].message, StartsWith("node: undecided: cannot read its report: "));
  EXPECT_TRUE(exists("node-2.json"));
}

struct EndCase {
  std::string_view name;
  std::optional<QueuedJob> job;  // in the queue; `ended` is relative to kNow
  std::string_view undecided;    // why; empty: it is waited for
};

constexpr Time kNow{std::chrono::seconds(1'800'000'300)};

TEST_F(SweepPassTest, AJobMayEndWithoutAReport) {
  const std::vector<EndCase> cases{
      {"pending", QueuedJob{"101", "PENDING", std::nullopt, "node-1"}, ""},
      {"running", QueuedJob{"101", "RUNNING", kNow + 60s, "node-1"}, ""},
      {"unknown state", QueuedJob{"101", "DREAMING", std::nullopt, "node-1"}, ""},
      {"just ended", QueuedJob{"101", "COMPLETED", kNow - 60s, "node-1"}, ""},
      {"ended", QueuedJob{"101", "FAILED", kNow - 180s, "node-1"},
       "the job ended as FAILED and left no report"},
      {"cancelled", QueuedJob{"101", "CANCELLED", kNow - 180s, "node-1"},
       "the job ended as CANCELLED and left no report"},
      {"never started", QueuedJob{"101", "DEADLINE", kNow, "node-1"},
       "the job could not start in time"},
      {"forgotten", std::nullopt, "Slurm no longer lists the job, and it left no report"}};
  pass();
  cluster.pass(kNow - cluster.now());
  for (const auto& test : cases) {
    SCOPED_TRACE(test.name);
    queue.queued.clear();
    if (test.job) queue.queued.push_back(*test.job);
    const auto result = pass(true);
    EXPECT_EQ(result.standings.front().trust, Trust::untested);
    if (test.undecided.empty()) {
      EXPECT_THAT(printed, Not(Contains(HasSubstr("n001"))));
    } else {
      EXPECT_THAT(printed, Contains(fmt::format("dry_run n001 101: would record sweep: node: "
                                                "undecided: {}",
                                                test.undecided)));
    }
  }
}

// Slurm does not cancel a job that an admin holds.
TEST_F(SweepPassTest, GivesUpAHeldJob) {
  pass();
  cluster.pass(1200s);
  pass();
  EXPECT_THAT(printed, IsEmpty());
  cluster.pass(1s);
  pass();
  EXPECT_THAT(printed, Contains("sweep n001 101: node: undecided: the job is held in the queue"));
}

}  // namespace
}  // namespace muster::slurm
