// SPDX-License-Identifier: Apache-2.0
// Which jobs a pass submits, and what past verdicts say about nodes.
#include "slurm/sweeps/sweep_plan.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

#include "lib/base/text.hpp"

namespace muster::slurm {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr Time kMonday{std::chrono::seconds(1'800'000'000)};

Time hour(int hours) { return kMonday + std::chrono::hours(hours); }

// "n1 n2 healthy": the verdicts of a job at that hour, or "n1 n2 open".
struct Past {
  int hours;
  std::string_view words;
};

// "n1 n2:allocated": idle if it has no state.
std::vector<NodeState> nodes_of(std::string_view words) {
  std::vector<NodeState> nodes;
  for (const auto word : split_words(words)) {
    const auto parts = split(word, ':');
    nodes.push_back({.name = std::string(parts[0]),
                     .partitions = {"main"},
                     .state = std::string(parts.size() > 1 ? parts[1] : "idle")});
  }
  return nodes;
}

SweepSituation situation_of(std::string_view nodes, const std::vector<Past>& past, int now,
                            const std::vector<std::string>& kinds) {
  SweepSituation situation{.nodes = nodes_of(nodes), .log = {}, .rules = {}, .now = hour(now)};
  situation.rules.partitions = {"main"};
  situation.rules.kinds = kinds;
  for (const auto& [hours, words] : past) {
    auto names = split_words(words);
    const auto outcome = names.back();
    names.pop_back();
    if (outcome == "open") {
      situation.log.open.push_back({.kind = kinds[0], .nodes = {names.begin(), names.end()}});
      continue;
    }
    const auto verdict = outcome == "healthy"     ? Verdict::healthy
                         : outcome == "unhealthy" ? Verdict::unhealthy
                                                  : Verdict::unknown;
    for (const auto name : names) {
      situation.log.verdicts.push_back({.at = hour(hours),
                                        .kind = kinds[0],
                                        .node = std::string(name),
                                        .verdict = verdict,
                                        .text = std::string(outcome)});
    }
  }
  return situation;
}

std::vector<std::string> planned(const SweepSituation& situation) {
  std::vector<std::string> jobs;
  for (const auto& job : plan_sweep(situation)) {
    jobs.push_back(fmt::format("{} {}", job.kind, fmt::join(job.nodes, " ")));
  }
  return jobs;
}

struct PlanCase {
  std::string_view name;
  std::string_view nodes;
  std::vector<Past> past;
  std::vector<std::string> jobs;
  int now = 1;  // hours; a node is due 84 hours after its last verdict
  std::vector<std::string> kinds{"node"};
};

// NOLINTNEXTLINE(readability-identifier-naming): the name that gtest looks for
void PrintTo(const PlanCase& test, std::ostream* out) { *out << test.name; }

class SweepPlan : public ::testing::TestWithParam<PlanCase> {};

TEST_P(SweepPlan, FollowsTheRules) {
  const auto& test = GetParam();
  EXPECT_EQ(planned(situation_of(test.nodes, test.past, test.now, test.kinds)), test.jobs);
}

INSTANTIATE_TEST_SUITE_P(
    Each, SweepPlan,
    ::testing::Values(
        PlanCase{"no_nodes", "", {}, {}},
        PlanCase{"each_node_by_itself", "n1 n2", {}, {"node n1", "node n2"}},
        PlanCase{"idle_nodes_alone",
                 "n1:allocated n2:mixed n3:drained n4:idle* n5:planned n6:reserved n7:maint "
                 "n8:down n9:idle~ n10:completing n11:draining n12:idle@ n13:unknown",
                 {},
                 {}},
        PlanCase{"longest_untested_first",
                 "n1 n2 n3",
                 {{0, "n3 healthy"}, {1, "n1 healthy"}},
                 {"node n2", "node n3", "node n1"},
                 100},
        PlanCase{"not_due", "n1", {{0, "n1 healthy"}}, {}, 83},
        PlanCase{"due_after_half_of_the_time", "n1", {{0, "n1 healthy"}}, {"node n1"}, 84},
        PlanCase{"nodes_with_a_job_wait", "n1 n2", {{0, "n1 open"}}, {"node n2"}},
        PlanCase{"verdicts_on_unknown_nodes_are_ignored",
                 "n1",
                 {{0, "n9 unhealthy"}, {0, "n8 open"}},
                 {"node n1"}},
        PlanCase{"undecided_waits_an_hour", "n1", {{0, "n1 undecided"}}, {}, 0},
        PlanCase{"undecided_is_tried_again", "n1", {{0, "n1 undecided"}}, {"node n1"}, 1},
        PlanCase{"twice_undecided_waits_two_hours",
                 "n1",
                 {{0, "n1 undecided"}, {1, "n1 undecided"}},
                 {},
                 2},
        PlanCase{"the_pause_ends_at_half_of_the_time",
                 "n1",
                 std::vector<Past>(50, Past{0, "n1 undecided"}),
                 {"node n1"},
                 84},
        PlanCase{"a_suspect_is_tested_again_first",
                 "n1 n2 n3",
                 {{0, "n3 healthy"}, {0, "n2 unhealthy"}},
                 {"node n2", "node n1"}},
        PlanCase{"two_failures_wait_until_due",
                 "n1 n2",
                 {{0, "n2 healthy"}, {0, "n1 unhealthy"}, {1, "n1 unhealthy"}},
                 {},
                 2},
        PlanCase{"a_search_takes_all_idle_nodes",
                 "n1 n2 n3 n4 n5 n6:allocated n7",
                 {},
                 {"locate n1 n2 n3 n4 n5 n7"},
                 1,
                 {"locate"}},
        PlanCase{"a_search_needs_four", "n1 n2 n3", {}, {}, 1, {"locate"}},
        PlanCase{"a_search_of_a_suspect_takes_good_nodes",
                 "n1 n2 n3 n4 n5",
                 {{0, "n1 n2 n4 n5 healthy"}, {0, "n3 unhealthy"}},
                 {"locate n3 n1 n2 n4 n5"},
                 1,
                 {"locate"}},
        PlanCase{"a_search_leaves_out_confirmed_nodes",
                 "n1 n2 n3 n4 n5 n6",
                 {{0, "n1 n2 n3 n4 healthy"}, {0, "n5 unhealthy"}, {1, "n5 unhealthy"}},
                 {"locate n6 n1 n2 n3 n4"},
                 2,
                 {"locate"}},
        PlanCase{"too_few_for_a_search_are_tested_alone",
                 "n1 n2 n3",
                 {},
                 {"node n1", "node n2", "node n3"},
                 1,
                 {"locate", "node"}}),
    [](const auto& it) { return std::string(it.param.name); });

TEST(SweepPlanTest, SubmitsNoMoreThanTheSiteAllows) {
  auto situation = situation_of("n1 n2 n3 n4 n5 n6 n7 n8 n9", {{0, "n1 open"}}, 1, {"node"});
  situation.rules.most_jobs = 3;
  EXPECT_THAT(plan_sweep(situation), SizeIs(2));
  situation.rules.most_jobs = 1;
  EXPECT_THAT(plan_sweep(situation), IsEmpty());
  situation.rules.kinds = {"locate"};
  situation.rules.most_jobs = 4;
  situation.rules.most_nodes = 5;
  EXPECT_THAT(planned(situation), ElementsAre("locate n2 n3 n4 n5 n6"));
}

TEST(SweepPlanTest, AJobStaysInOnePartition) {
  auto situation = situation_of("a1 b1 a2 a3 c1 a4", {}, 1, {"locate"});
  situation.nodes[1].partitions = {"big", "b"};
  situation.nodes[4].partitions = {"c"};
  situation.rules.partitions = {"main", "b"};
  EXPECT_EQ(plan_sweep(situation),
            (std::vector<SweepJob>{
                {.kind = "locate", .partition = "main", .nodes = {"a1", "a2", "a3", "a4"}}}));
}

TEST(SweepPlanTest, TheOnlyPartitionNeedNotBeNamed) {
  auto nodes = nodes_of("n1 n2");
  EXPECT_THAT(*swept_partitions(nodes, {}), ElementsAre("main"));
  EXPECT_THAT(*swept_partitions({}, {}), IsEmpty());
  nodes[1].partitions = {"h100"};
  EXPECT_FALSE(swept_partitions(nodes, {}));
  SweepRules rules;
  rules.partitions = {"h100"};
  EXPECT_THAT(*swept_partitions(nodes, rules), ElementsAre("h100"));
  rules.partitions = {"h200"};
  EXPECT_EQ(swept_partitions(nodes, rules).error().message,
            "slurm.sweep.partitions: unknown partition \"h200\", expected h100, main");
}

struct StandingCase {
  std::string_view name;
  std::vector<Past> past;
  Trust trust;
  bool overdue = false;
};

// NOLINTNEXTLINE(readability-identifier-naming): the name that gtest looks for
void PrintTo(const StandingCase& test, std::ostream* out) { *out << test.name; }

class SweepStandingOf : public ::testing::TestWithParam<StandingCase> {};

TEST_P(SweepStandingOf, FollowsFromTheVerdicts) {
  const auto standing =
      sweep_standings(situation_of("n1 n2 n3", GetParam().past, 169, {"node"})).front();
  EXPECT_EQ(standing.trust, GetParam().trust);
  EXPECT_EQ(standing.overdue, GetParam().overdue);
}

INSTANTIATE_TEST_SUITE_P(
    Each, SweepStandingOf,
    ::testing::Values(
        StandingCase{"never_tested", {}, Trust::untested, true},
        StandingCase{"undecided", {{1, "n1 undecided"}}, Trust::untested, true},
        StandingCase{"passed", {{1, "n1 healthy"}}, Trust::good},
        StandingCase{"passed_long_ago", {{0, "n1 healthy"}}, Trust::good, true},
        StandingCase{"passed_and_undecided", {{1, "n1 healthy"}, {2, "n1 undecided"}}, Trust::good},
        StandingCase{"failed_once", {{1, "n2 healthy"}, {1, "n1 unhealthy"}}, Trust::suspect},
        StandingCase{"failed_twice_while_another_passed",
                     {{1, "n1 unhealthy"}, {2, "n2 healthy"}, {3, "n1 unhealthy"}},
                     Trust::confirmed},
        StandingCase{"all_fail",
                     {{0, "n2 healthy"}, {1, "n1 n2 unhealthy"}, {3, "n1 n2 unhealthy"}},
                     Trust::suspect},
        StandingCase{
            "passed_again",
            {{1, "n1 unhealthy"}, {2, "n2 healthy"}, {3, "n1 unhealthy"}, {4, "n1 healthy"}},
            Trust::good}),
    [](const auto& it) { return std::string(it.param.name); });

TEST(SweepLogTest, ReadsWhatItWrites) {
  const SweepJob job{.kind = "locate",
                     .partition = "main",
                     .nodes = {"n1", "n2", "n3"},
                     .token = "locate-5e7a",
                     .number = "4711",
                     .submitted = kMonday};
  auto open = job;
  open.token = "locate-5e7b";
  open.number = "";
  const SweepVerdict verdict{.at = hour(1),
                             .kind = "locate",
                             .node = "n2",
                             .verdict = Verdict::unhealthy,
                             .text = "unhealthy: bench.locate HCA 3: slow",
                             .check = "bench.locate",
                             .device = "n2"};
  const auto log = parse_sweep_log({event_of(job, "planned"),
                                    event_of(job, "submitted"),
                                    event_of(verdict, job),
                                    event_of(open, "planned"),
                                    {.kind = "drained", .message = "locate: healthy: no"}},
                                   hour(2));
  EXPECT_THAT(log.open, ElementsAre(open));
  EXPECT_THAT(log.verdicts, ElementsAre(verdict));
}

TEST(SweepLogTest, ATimeInTheFutureCountsAsLongAgo) {
  const SweepVerdict verdict{.at = hour(100), .kind = "node", .node = "n1", .text = "healthy: 1"};
  const auto log =
      parse_sweep_log({event_of(verdict, {.kind = "node", .token = "node-1"})}, kMonday);
  EXPECT_EQ(log.verdicts.at(0).at, Time{});
}

// A cluster on paper: each planned job ends before the next pass.
class PaperCluster {
 public:
  explicit PaperCluster(int nodes) : random_(1) {
    for (int i = 0; i < nodes; ++i) {
      situation_.nodes.push_back(
          {.name = fmt::format("n{:04}", i), .partitions = {"main"}, .state = "idle"});
    }
    situation_.rules.partitions = {"main"};
    situation_.now = kMonday;
  }

  // `minutes` after the last pass; this share of the nodes is idle.
  void pass(int minutes, double idle) {
    situation_.now += std::chrono::minutes(minutes);
    std::uniform_real_distribution<double> share(0, 1);
    for (auto& node : situation_.nodes) node.state = share(random_) < idle ? "idle" : "allocated";
    for (const auto& job : plan_sweep(situation_)) {
      for (const auto& node : job.nodes) {
        const auto verdict = bad.contains(node) ? Verdict::unhealthy : Verdict::healthy;
        situation_.log.verdicts.push_back(
            {.at = situation_.now, .kind = job.kind, .node = node, .verdict = verdict});
      }
      ++jobs;
    }
  }

  [[nodiscard]] std::set<std::string> with(Trust trust) const {
    std::set<std::string> found;
    for (const auto& standing : sweep_standings(situation_)) {
      if (standing.trust == trust) found.insert(standing.node);
    }
    return found;
  }

  [[nodiscard]] std::ptrdiff_t overdue() const {
    const auto standings = sweep_standings(situation_);
    return std::ranges::count_if(standings, &SweepStanding::overdue);
  }

  std::set<std::string> bad;
  int jobs = 0;

 private:
  SweepSituation situation_;
  std::mt19937 random_;
};

TEST(SweepOverTimeTest, EveryNodeIsSweptInTime) {
  PaperCluster cluster(20);
  constexpr int kPerDay = 12;
  for (int pass = 0; pass < 7 * kPerDay; ++pass) cluster.pass(120, 0.3);
  for (int pass = 0; pass < 14 * kPerDay; ++pass) {
    cluster.pass(120, 0.3);
    ASSERT_EQ(cluster.overdue(), 0) << pass;
  }
  // Each node twice a week by itself, and at least four at a time in a search.
  EXPECT_LT(cluster.jobs, 2 * 3 * (20 + 20));
}

TEST(SweepOverTimeTest, BadNodesAreConfirmedUntilTheyPass) {
  PaperCluster cluster(40);
  cluster.bad = {"n0007", "n0023"};
  std::set<std::string> ever;
  for (int pass = 0; pass < 150; ++pass) {
    cluster.pass(60, 0.5);
    ever.merge(cluster.with(Trust::confirmed));
  }
  EXPECT_EQ(ever, cluster.bad);
  cluster.bad.clear();
  for (int pass = 0; pass < 5 * 24; ++pass) cluster.pass(60, 0.8);
  EXPECT_THAT(cluster.with(Trust::confirmed), IsEmpty());
}

TEST(SweepOverTimeTest, WhereAllNodesFailNoneIsConfirmedAndTheSweepSlowsDown) {
  PaperCluster cluster(10);
  for (int node = 0; node < 10; ++node) cluster.bad.insert(fmt::format("n{:04}", node));
  for (int pass = 0; pass < 80; ++pass) cluster.pass(60, 1);
  EXPECT_THAT(cluster.with(Trust::confirmed), IsEmpty());
  EXPECT_THAT(cluster.with(Trust::suspect), SizeIs(10));
  EXPECT_LE(cluster.jobs, 10 * 2 + 10 * 2);
}

}  // namespace
}  // namespace muster::slurm
