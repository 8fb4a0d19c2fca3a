// SPDX-License-Identifier: Apache-2.0
// The jobs that a pass submits, and the standing of nodes after past verdicts.
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
};

void expect_plans(const std::vector<std::string>& kinds, const std::vector<PlanCase>& cases) {
  for (const auto& test : cases) {
    EXPECT_EQ(planned(situation_of(test.nodes, test.past, test.now, kinds)), test.jobs)
        << test.name;
  }
}

TEST(SweepPlanTest, TestsSingleNodesInTurn) {
  expect_plans(
      {"node"},
      {{"no nodes", "", {}, {}},
       {"each node by itself", "n1 n2", {}, {"node n1", "node n2"}},
       {"idle nodes alone",
        "n1:allocated n2:mixed n3:drained n4:idle* n5:planned n6:reserved n7:maint "
        "n8:down n9:idle~ n10:completing n11:draining n12:idle@ n13:unknown",
        {},
        {}},
       {"longest untested first",
        "n1 n2 n3",
        {{0, "n3 healthy"}, {1, "n1 healthy"}},
        {"node n2", "node n3", "node n1"},
        100},
       {"not due", "n1", {{0, "n1 healthy"}}, {}, 83},
       {"due after half of the time", "n1", {{0, "n1 healthy"}}, {"node n1"}, 84},
       {"nodes with a job wait", "n1 n2", {{0, "n1 open"}}, {"node n2"}},
       {"verdicts on unknown nodes are ignored",
        "n1",
        {{0, "n9 unhealthy"}, {0, "n8 open"}},
        {"node n1"}},
       {"undecided waits an hour", "n1", {{0, "n1 undecided"}}, {}, 0},
       {"undecided is tried again", "n1", {{0, "n1 undecided"}}, {"node n1"}, 1},
       {"twice undecided waits two hours", "n1", {{0, "n1 undecided"}, {1, "n1 undecided"}}, {}, 2},
       {"the pause ends at half of the time",
        "n1",
        std::vector<Past>(50, Past{0, "n1 undecided"}),
        {"node n1"},
        84},
       {"a suspect is tested again first",
        "n1 n2 n3",
        {{0, "n3 healthy"}, {0, "n2 unhealthy"}},
        {"node n2", "node n1"}},
       {"two failures wait until due",
        "n1 n2",
        {{0, "n2 healthy"}, {0, "n1 unhealthy"}, {1, "n1 unhealthy"}},
        {},
        2}});
}

TEST(SweepPlanTest, SearchesAmongIdleNodes) {
  expect_plans({"locate"}, {{"a search takes all idle nodes",
                             "n1 n2 n3 n4 n5 n6:allocated n7",
                             {},
                             {"locate n1 n2 n3 n4 n5 n7"}},
                            {"a search needs four", "n1 n2 n3", {}, {}},
                            {"a search of a suspect takes good nodes",
                             "n1 n2 n3 n4 n5",
                             {{0, "n1 n2 n4 n5 healthy"}, {0, "n3 unhealthy"}},
                             {"locate n3 n1 n2 n4 n5"}},
                            {"a search leaves out confirmed nodes",
                             "n1 n2 n3 n4 n5 n6",
                             {{0, "n1 n2 n3 n4 healthy"}, {0, "n5 unhealthy"}, {1, "n5 unhealthy"}},
                             {"locate n6 n1 n2 n3 n4"},
                             2}});
  expect_plans({"locate", "node"}, {{"too few for a search are tested alone",
                                     "n1 n2 n3",
                                     {},
                                     {"node n1", "node n2", "node n3"}}});
}

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

TEST(SweepStandingTest, FollowsFromTheVerdicts) {
  const std::vector<StandingCase> cases{
      {"never tested", {}, Trust::untested, true},
      {"undecided", {{1, "n1 undecided"}}, Trust::untested, true},
      {"passed", {{1, "n1 healthy"}}, Trust::good},
      {"passed long ago", {{0, "n1 healthy"}}, Trust::good, true},
      {"passed and undecided", {{1, "n1 healthy"}, {2, "n1 undecided"}}, Trust::good},
      {"failed once", {{1, "n2 healthy"}, {1, "n1 unhealthy"}}, Trust::suspect},
      {"failed twice while another passed",
       {{1, "n1 unhealthy"}, {2, "n2 healthy"}, {3, "n1 unhealthy"}},
       Trust::confirmed},
      {"all fail",
       {{0, "n2 healthy"}, {1, "n1 n2 unhealthy"}, {3, "n1 n2 unhealthy"}},
       Trust::suspect},
      StandingCase{"passed_again",
                   {{1, "n1 unhealthy"}, {2, "n2 healthy"}, {3, "n1 unhealthy"}, {4, "n1 healthy"}},
                   Trust::good}};
  for (const auto& test : cases) {
    const auto standing =
        sweep_standings(situation_of("n1 n2 n3", test.past, 169, {"node"})).front();
    EXPECT_EQ(standing.trust, test.trust) << test.name;
    EXPECT_EQ(standing.overdue, test.overdue) << test.name;
  }
}

TEST(SweepLogTest, ReadsItsOwnEvents) {
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

// A simulated cluster, in which each planned job ends before the next pass.
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

TEST(SweepOverTimeTest, NoNodeIsConfirmedIfAllFailAndTheSweepSlowsDown) {
  PaperCluster cluster(10);
  for (int node = 0; node < 10; ++node) cluster.bad.insert(fmt::format("n{:04}", node));
  for (int pass = 0; pass < 80; ++pass) cluster.pass(60, 1);
  EXPECT_THAT(cluster.with(Trust::confirmed), IsEmpty());
  EXPECT_THAT(cluster.with(Trust::suspect), SizeIs(10));
  EXPECT_LE(cluster.jobs, 10 * 2 + 10 * 2);
}

}  // namespace
}  // namespace muster::slurm
