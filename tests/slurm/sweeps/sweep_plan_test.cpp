// SPDX-License-Identifier: Apache-2.0
// Which jobs a pass submits.
#include "slurm/sweeps/sweep_plan.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "slurm/sweeps/sweep_standing.hpp"
#include "tests/slurm/sweeps/sweeping.hpp"

namespace muster::slurm {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

SweepSituation situation_of(std::string_view nodes, const std::vector<Past>& past, int now = 1) {
  SweepSituation situation{
      .nodes = nodes_of(nodes), .runs = runs_of(past), .rules = {}, .now = hour(now)};
  situation.rules.partitions = {"main"};
  situation.rules.kinds = {"pair"};
  return situation;
}

struct PlanCase {
  std::string_view name;
  std::string_view nodes;
  std::vector<Past> past;
  std::vector<std::string> jobs;
  int now = 1;  // hours; a node is due 84 hours after it was swept
  std::vector<std::string> kinds{"pair"};
};

// NOLINTNEXTLINE(readability-identifier-naming): the name that gtest looks for
void PrintTo(const PlanCase& test, std::ostream* out) { *out << test.name; }

class SweepPlan : public ::testing::TestWithParam<PlanCase> {};

TEST_P(SweepPlan, FollowsTheRules) {
  const auto& test = GetParam();
  auto situation = situation_of(test.nodes, test.past, test.now);
  situation.rules.kinds = test.kinds;
  EXPECT_EQ(words_of(plan_sweep(situation)), test.jobs);
}

INSTANTIATE_TEST_SUITE_P(
    Rotation, SweepPlan,
    ::testing::Values(
        PlanCase{"no_nodes", "", {}, {}}, PlanCase{"one_node_has_no_partner", "n1", {}, {}},
        PlanCase{"two_nodes", "n1 n2", {}, {"pair n1 n2"}},
        PlanCase{"an_odd_one_waits", "n1 n2 n3", {}, {"pair n1 n2"}},
        PlanCase{"an_odd_one_is_taken_alone",
                 "n1 n2 n3",
                 {},
                 {"pair n1 n2", "single n3"},
                 1,
                 {"pair", "single"}},
        PlanCase{"the_parts_of_each_node", "n1 n2", {}, {"node n1", "node n2"}, 1, {"node"}},
        PlanCase{"a_search_takes_all_that_are_idle",
                 "n1 n2 n3 n4 n5 n6:allocated n7",
                 {},
                 {"locate n1 n2 n3 n4 n5 n7"},
                 1,
                 {"locate"}},
        PlanCase{"a_search_needs_four", "n1 n2 n3", {}, {}, 1, {"locate"}},
        PlanCase{"who_a_search_blamed_goes_first_and_with_others",
                 "n1 n2 n3 n4 n5",
                 {{0, "n1 n2 n4 n5 healthy locate"}, {0, "n3 unhealthy locate"}},
                 {"locate n3 n1 n2 n4 n5"},
                 1,
                 {"locate"}},
        PlanCase{"only_idle_ones",
                 "n1:allocated n2:mixed n3:drained n4:idle* n5:planned n6:reserved n7:maint "
                 "n8:down n9:idle~ n10:completing n11:draining n12:idle@ n13:unknown",
                 {},
                 {}},
        PlanCase{"the_longest_ago_first",
                 "n1 n2 n3 n4",
                 {{0, "n3 n4 healthy"}, {1, "n1 n2 healthy"}},
                 {"pair n3 n1", "pair n4 n2"},
                 100},
        PlanCase{"whoever_never_was_comes_first",
                 "n1 n2 n3",
                 {{0, "n1 n2 healthy"}},
                 {"pair n3 n1"},
                 100},
        PlanCase{"nobody_is_due", "n1 n2", {{0, "n1 n2 healthy"}}, {}, 83},
        PlanCase{"due_after_half_of_the_time", "n1 n2", {{0, "n1 n2 healthy"}}, {"pair n1 n2"}, 84},
        PlanCase{"a_partner_need_not_be_due", "n1 n2 n3", {{0, "n1 n2 healthy"}}, {"pair n3 n1"}},
        PlanCase{"with_whom_it_was_longest_ago",
                 "n1 n2 n3 n4:allocated",
                 {{0, "n1 n3 healthy"},
                  {1, "n1 n2 healthy"},
                  {2, "n2 n4 healthy"},
                  {3, "n3 n4 healthy"}},
                 {"pair n1 n3"},
                 100},
        PlanCase{"never_is_longest_ago",
                 "n1 n2 n3",
                 {{0, "n1 n2 healthy"}, {1, "n3 n2 healthy"}},
                 {"pair n1 n3"},
                 85},
        PlanCase{"nodes_with_a_job_of_the_sweep_are_left",
                 "n1 n2 n3 n4",
                 {{0, "n1 n2 open"}},
                 {"pair n3 n4"}},
        PlanCase{"a_node_that_vanished_is_no_partner",
                 "n1 n2",
                 {{0, "n1 n9 unhealthy"}, {0, "n8 open"}},
                 {"pair n1 n2"}},
        PlanCase{"undecided_waits_an_hour", "n1 n2", {{0, "n1 n2 undecided"}}, {}, 0},
        PlanCase{"and_is_taken_then", "n1 n2", {{0, "n1 n2 undecided"}}, {"pair n1 n2"}, 1},
        PlanCase{"undecided_is_nobodys_partner_either",
                 "n1 n2 n3 n4 n5",
                 {{0, "n1 n2 undecided"}},
                 {"pair n3 n4"},
                 0},
        PlanCase{"and_is_one_then",
                 "n1 n2 n3 n4 n5",
                 {{0, "n1 n2 undecided"}},
                 {"pair n3 n4", "pair n5 n1"},
                 1},
        PlanCase{"twice_undecided_waits_two_hours",
                 "n1 n2",
                 {{0, "n1 n2 undecided"}, {1, "n1 n2 undecided"}},
                 {},
                 2},
        PlanCase{"and_is_taken_after_them",
                 "n1 n2",
                 {{0, "n1 n2 undecided"}, {1, "n1 n2 undecided"}},
                 {"pair n1 n2"},
                 3},
        PlanCase{"a_result_in_between_counts",
                 "n1 n2",
                 {{0, "n1 n2 undecided"}, {1, "n1 n2 unhealthy"}, {2, "n1 n2 undecided"}},
                 {"pair n1 n2"},
                 87},
        PlanCase{"never_more_than_half_of_every",
                 "n1 n2",
                 std::vector<Past>(50, Past{0, "n1 n2 undecided"}),
                 {"pair n1 n2"},
                 84},
        PlanCase{
            "and_not_less", "n1 n2", std::vector<Past>(50, Past{0, "n1 n2 undecided"}), {}, 83},
        PlanCase{"and_does_not_push_to_the_front",
                 "n1 n2 n3 n4",
                 {{0, "n1 n2 undecided"}},
                 {"pair n3 n4", "pair n1 n2"},
                 2}),
    [](const auto& it) { return std::string(it.param.name); });

INSTANTIATE_TEST_SUITE_P(
    Suspects, SweepPlan,
    ::testing::Values(
        PlanCase{"come_first_with_known_good_ones",
                 "n1 n2 n3 n4 n5",
                 {{0, "n4 n5 healthy"}, {0, "n1 n2 unhealthy"}},
                 {"pair n1 n4", "pair n2 n5"},
                 100},
        PlanCase{"and_with_untested_ones_where_no_other_is_idle",
                 "n1 n2 n3 n4:allocated n5:allocated",
                 {{0, "n4 n5 healthy"}, {0, "n1 n2 unhealthy"}},
                 {"pair n1 n3"}},
        PlanCase{"get_another_partner_each_time",
                 "n1 n3 n4 n5 n2:drained",
                 {{0, "n3 n4 healthy"},
                  {0, "n5 n2 healthy"},
                  {1, "n1 n2 unhealthy"},
                  {2, "n1 n3 unhealthy"},
                  {3, "n3 n4 healthy"}},
                 {"pair n1 n5"},
                 4},
        PlanCase{"are_not_paired_with_each_other",
                 "n1 n2 n3:allocated n4:allocated",
                 {{0, "n3 n4 healthy"}, {1, "n1 n2 unhealthy"}},
                 {},
                 2},
        PlanCase{"not_even_when_due",
                 "n1 n2 n3:allocated n4:allocated",
                 {{0, "n3 n4 healthy"}, {1, "n1 n2 unhealthy"}},
                 {},
                 100},
        PlanCase{"unless_there_is_no_other",
                 "n1 n2 n3 n4",
                 {{0, "n1 n2 unhealthy"}, {0, "n3 n4 unhealthy"}},
                 {"pair n1 n3", "pair n2 n4"}},
        PlanCase{"that_is_in_service",
                 "n1 n2 n3 n4 n5:drained",
                 {{0, "n5 n6 healthy"}, {0, "n1 n2 unhealthy"}, {0, "n3 n4 unhealthy"}},
                 {"pair n1 n3", "pair n2 n4"}},
        PlanCase{"have_tried_everybody",
                 "n1 n2 n3 n4",
                 {{0, "n1 n2 unhealthy"},
                  {0, "n3 n4 unhealthy"},
                  {1, "n1 n3 unhealthy"},
                  {1, "n2 n4 unhealthy"},
                  {2, "n1 n4 unhealthy"},
                  {2, "n2 n3 unhealthy"}},
                 {},
                 3},
        PlanCase{"and_are_taken_again_when_due",
                 "n1 n2 n3 n4",
                 {{0, "n1 n2 unhealthy"},
                  {0, "n3 n4 unhealthy"},
                  {1, "n1 n3 unhealthy"},
                  {1, "n2 n4 unhealthy"},
                  {2, "n1 n4 unhealthy"},
                  {2, "n2 n3 unhealthy"}},
                 {"pair n1 n2", "pair n3 n4"},
                 100},
        PlanCase{"of_two_nodes_are_not_run_for_ever", "n1 n2", {{0, "n1 n2 unhealthy"}}, {}, 1},
        PlanCase{"of_two_nodes_are_run_when_due",
                 "n1 n2",
                 {{0, "n1 n2 unhealthy"}},
                 {"pair n1 n2"},
                 100},
        PlanCase{"alone_are_run_again",
                 "n1 n2",
                 {{0, "n2 healthy"}, {0, "n1 unhealthy"}},
                 {"single n1"},
                 1,
                 {"single"}},
        PlanCase{"alone_wait_until_another_has_passed",
                 "n1 n2",
                 {{0, "n2 healthy"}, {0, "n1 unhealthy"}, {1, "n1 unhealthy"}},
                 {},
                 2,
                 {"single"}},
        PlanCase{"alone_are_run_once_another_has_passed",
                 "n1 n2",
                 {{0, "n1 unhealthy"}, {1, "n1 unhealthy"}, {2, "n2 healthy"}},
                 {"single n1"},
                 3,
                 {"single"}},
        PlanCase{"alone_are_the_last_choice_of_others",
                 "n2 n1 n3",
                 {{0, "n1 unhealthy"}, {1, "n1 unhealthy"}},
                 {"pair n2 n3"},
                 2,
                 {"pair", "single"}},
        PlanCase{"of_a_kind_that_is_not_swept_any_more_are_none",
                 "n2 n1 n3",
                 {{0, "n1 unhealthy"}},
                 {"pair n2 n1"}}),
    [](const auto& it) { return std::string(it.param.name); });

const std::vector<Past> kBadNode{{0, "n1 n2 unhealthy"}, {1, "n2 n5 healthy"},
                                 {2, "n1 n3 unhealthy"}, {3, "n3 n5 healthy"},
                                 {4, "n1 n4 unhealthy"}, {5, "n4 n5 healthy"}};

INSTANTIATE_TEST_SUITE_P(
    Confirmed, SweepPlan,
    ::testing::Values(PlanCase{"is_left_alone", "n1 n2 n3 n4 n5", kBadNode, {}, 6},
                      PlanCase{"is_taken_when_due_with_a_good_one",
                               "n1 n2 n3 n4 n5",
                               kBadNode,
                               {"pair n2 n3", "pair n1 n5"},
                               89},
                      PlanCase{"is_nobodys_partner", "n1 n6", kBadNode, {}, 6}),
    [](const auto& it) { return std::string(it.param.name); });

TEST(SweepPlanTest, SubmitsNoMoreThanTheSiteWants) {
  auto situation = situation_of("n1 n2 n3 n4 n5 n6 n7 n8 n9 n10", {{0, "n1 n2 open"}});
  situation.rules.most_jobs = 3;
  EXPECT_THAT(plan_sweep(situation), SizeIs(2));
  situation.rules.most_jobs = 1;
  EXPECT_THAT(plan_sweep(situation), IsEmpty());
}

TEST(SweepPlanTest, PairsOnlyWithinAPartition) {
  auto situation = situation_of("a1 b1 a2 c1", {});
  situation.nodes[1].partitions = {"big", "b"};
  situation.nodes[3].partitions = {"c"};
  situation.rules.partitions = {"main", "b"};
  EXPECT_EQ(plan_sweep(situation), (std::vector<SweepJob>{{"pair", "main", {"a1", "a2"}}}));
  situation.nodes[2].partitions = {"b"};
  EXPECT_EQ(plan_sweep(situation), (std::vector<SweepJob>{{"pair", "b", {"b1", "a2"}}}));
}

TEST(SweepPlanTest, NoNodeIsInTwoJobs) {
  auto situation = situation_of("n1 n2 n3 n4 n5 n6", {});
  situation.rules.kinds = {"single", "pair"};
  situation.rules.most_jobs = 100;
  std::set<std::string> seen;
  for (const auto& job : plan_sweep(situation)) {
    for (const auto& node : job.nodes) EXPECT_TRUE(seen.insert(node).second) << node;
  }
  EXPECT_THAT(seen, SizeIs(6));
}

TEST(SweepPlanTest, APartitionThatIsTheOnlyOneNeedNotBeNamed) {
  const auto nodes = nodes_of("n1 n2");
  EXPECT_THAT(*swept_partitions(nodes, {}), ElementsAre("main"));
  EXPECT_THAT(*swept_partitions({}, {}), IsEmpty());
  SweepRules rules;
  rules.partitions = {"main"};
  EXPECT_THAT(*swept_partitions(nodes, rules), ElementsAre("main"));
}

TEST(SweepPlanTest, WhichPartitionsIsTheSitesToSay) {
  auto nodes = nodes_of("n1 n2");
  nodes[1].partitions = {"h100"};
  EXPECT_EQ(swept_partitions(nodes, {}).error().message,
            "slurm.sweep.partitions in muster.yaml must say which of h100, main");
  SweepRules rules;
  rules.partitions = {"h200"};
  EXPECT_EQ(swept_partitions(nodes, rules).error().message,
            "slurm.sweep.partitions in muster.yaml names h200, which Slurm does not have; it has "
            "h100, main");
}

TEST(SweepStandingTest, TellsWhoIsOverdueAndWhoFails) {
  auto situation = situation_of("n1 n2 n3", {{0, "n1 n2 unhealthy"}}, 24 * 7 + 1);
  auto standings = sweep_standings(situation);
  ASSERT_THAT(standings, SizeIs(3));
  EXPECT_TRUE(standings[0].overdue);
  EXPECT_TRUE(standings[2].overdue);
  EXPECT_EQ(standings[0].trust, Trust::suspect);
  EXPECT_EQ(standings[0].failures.size(), 1);
  EXPECT_EQ(standings[2].trust, Trust::untested);
  EXPECT_EQ(standings[2].swept, std::nullopt);
  situation.now = hour(24 * 7);
  standings = sweep_standings(situation);
  EXPECT_FALSE(standings[0].overdue);
  EXPECT_TRUE(standings[2].overdue);
}

// A cluster on paper: what is planned runs until the next pass.
class PaperCluster {
 public:
  PaperCluster(int nodes, SweepRules rules) : rules_(std::move(rules)), random_(1) {
    for (int i = 0; i < nodes; ++i) {
      auto& node = nodes_.emplace_back();
      node.name = fmt::format("n{:04}", i);
      node.partitions = {"main"};
      node.state = "idle";
    }
    rules_.partitions = {"main"};
  }

  // A pass, `later` minutes after the last one.
  void pass(int later, double idle) {
    now_ += std::chrono::minutes(later);
    for (auto& run : runs_) {
      if (run.outcome != SweepOutcome::open) continue;
      run.ended = now_;
      const bool fails = std::ranges::any_of(
          run.nodes, [&](const std::string& node) { return bad.contains(node); });
      run.outcome = fails ? SweepOutcome::unhealthy : SweepOutcome::healthy;
      ++jobs;
    }
    std::uniform_real_distribution<double> share(0, 1);
    for (auto& node : nodes_) node.state = share(random_) < idle ? "idle" : "allocated";
    for (const auto& job : plan_sweep(situation())) {
      runs_.push_back(
          {.kind = job.kind, .partition = job.partition, .nodes = job.nodes, .submitted = now_});
    }
  }

  [[nodiscard]] SweepSituation situation() const {
    return {.nodes = nodes_, .runs = runs_, .rules = rules_, .now = now_};
  }

  // By name, those of this trust.
  [[nodiscard]] std::set<std::string> with(Trust trust) const {
    std::set<std::string> found;
    for (const auto& standing : sweep_standings(situation())) {
      if (standing.trust == trust) found.insert(standing.node);
    }
    return found;
  }

  [[nodiscard]] std::ptrdiff_t overdue() const {
    const auto standings = sweep_standings(situation());
    return std::ranges::count_if(standings, &SweepStanding::overdue);
  }

  std::set<std::string> bad;
  int jobs = 0;

 private:
  SweepRules rules_;
  std::mt19937 random_;
  std::vector<NodeState> nodes_;
  std::vector<SweepRun> runs_;
  Time now_ = kMonday;
};

TEST(SweepOverTimeTest, EveryNodeIsSweptInTime) {
  PaperCluster cluster(20, {});
  constexpr int kPerDay = 12;
  for (int pass = 0; pass < 7 * kPerDay; ++pass) cluster.pass(120, 0.3);
  EXPECT_EQ(cluster.overdue(), 0);
  for (int pass = 0; pass < 14 * kPerDay; ++pass) {
    cluster.pass(120, 0.3);
    ASSERT_EQ(cluster.overdue(), 0) << pass;
  }
  // Each node twice a week in each kind, and a little more where a partner was not due yet.
  constexpr int kTwiceAWeek = 2 * 3 * (20 + 10);
  EXPECT_LT(cluster.jobs, kTwiceAWeek + kTwiceAWeek / 4);
}

TEST(SweepOverTimeTest, BadNodesAreFoundAndGoodOnesAreNot) {
  PaperCluster cluster(40, {});
  cluster.bad = {"n0007", "n0023"};
  std::set<std::string> ever;
  for (int pass = 0; pass < 150; ++pass) {
    cluster.pass(60, 0.5);
    ever.merge(cluster.with(Trust::confirmed));
  }
  EXPECT_EQ(ever, cluster.bad);
  EXPECT_THAT(cluster.with(Trust::suspect), IsEmpty());
}

TEST(SweepOverTimeTest, ARepairedNodeIsGoodAgain) {
  PaperCluster cluster(20, {});
  cluster.bad = {"n0007"};
  for (int pass = 0; pass < 200; ++pass) cluster.pass(60, 0.8);
  ASSERT_THAT(cluster.with(Trust::confirmed), ElementsAre("n0007"));
  cluster.bad.clear();
  for (int pass = 0; pass < 4 * 24; ++pass) cluster.pass(60, 0.8);
  EXPECT_THAT(cluster.with(Trust::confirmed), IsEmpty());
}

TEST(SweepOverTimeTest, WhereEverybodyFailsNobodyIsConfirmedAndTheSweepSlowsDown) {
  PaperCluster cluster(10, {});
  for (int node = 0; node < 10; ++node) cluster.bad.insert(fmt::format("n{:04}", node));
  for (int pass = 0; pass < 80; ++pass) cluster.pass(60, 1);
  EXPECT_THAT(cluster.with(Trust::confirmed), IsEmpty());
  EXPECT_THAT(cluster.with(Trust::suspect), SizeIs(10));
  // Six times in pairs and twice alone.
  EXPECT_LE(cluster.jobs, 10 * 6 + 10 * 2);
}

TEST(SweepOverTimeTest, AFabricThatWasDownForAnHourConfirmsNobody) {
  PaperCluster cluster(12, {});
  for (int pass = 0; pass < 24; ++pass) cluster.pass(60, 1);
  cluster.bad = cluster.with(Trust::good);
  ASSERT_THAT(cluster.bad, SizeIs(12));
  for (int pass = 0; pass < 5 * 24; ++pass) cluster.pass(60, 0.7);
  cluster.bad.clear();
  for (int pass = 0; pass < 5 * 24; ++pass) {
    cluster.pass(60, 0.7);
    ASSERT_THAT(cluster.with(Trust::confirmed), IsEmpty()) << pass;
  }
  EXPECT_THAT(cluster.with(Trust::suspect), IsEmpty());
}

TEST(SweepOverTimeTest, AThousandNodesArePlannedInOneGo) {
  SweepRules rules;
  rules.most_jobs = 1000;
  PaperCluster cluster(1000, rules);
  for (int pass = 0; pass < 4; ++pass) cluster.pass(60, 1);
  EXPECT_EQ(cluster.overdue(), 0);
}

}  // namespace
}  // namespace muster::slurm
