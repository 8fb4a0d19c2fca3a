// SPDX-License-Identifier: Apache-2.0
// Who is named on models of clusters, and who is not.
#include "bench/locate/locate.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/locate/findings.hpp"
#include "tests/bench/locate/readiness.hpp"
#include "tests/bench/locate/runs.hpp"

namespace muster::bench::locate {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;
using ::testing::Not;
using ::testing::UnorderedElementsAre;
using Kind = ModelFault::Kind;
using What = Culprit::Kind;

TEST(LocateTest, NobodyIsAccusedInHealthyClusters) {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    for (const std::size_t nodes : {4U, 9U, 64U}) {
      const auto search = search_on({.nodes = nodes, .seed = seed}, seed % 2 == 0);
      EXPECT_THAT(accused(search), IsEmpty()) << nodes << " nodes, seed " << seed;
      EXPECT_THAT(culprits_of(search, What::link), IsEmpty()) << nodes << " nodes, seed " << seed;
    }
  }
}

TEST(LocateTest, ASlowNodeIsNamedByEitherStrategy) {
  for (const auto strategy : {Strategy::screen, Strategy::tournament}) {
    const ModelCluster cluster{.nodes = 32, .faults = {{Kind::slow_node, 5, 0, 0.9}}};
    const auto search = search_on(cluster, true, {.strategy = strategy});
    ASSERT_EQ(search.culprits.size(), 1U);
    const auto& culprit = search.culprits[0];
    EXPECT_EQ(culprit.kind, What::node);
    EXPECT_THAT(culprit.nodes, ElementsAre(5));
    EXPECT_NEAR(culprit.share, 0.9, 0.03);
    EXPECT_GT(culprit.probability, 0.999);
    EXPECT_FALSE(culprit.evidence.empty());
    EXPECT_FALSE(culprit.ruled_out.empty());
  }
}

TEST(LocateTest, ASlowHcaIsToldFromASlowGpuAndASlowNode) {
  const ModelCluster cluster{.nodes = 64,
                             .faults = {{Kind::slow_hca, 7, 3, 0.48},
                                        {Kind::slow_gpu, 20, 5, 0.7},
                                        {Kind::slow_node, 41, 0, 0.8}}};
  const auto search = search_on(cluster, true, with_limit());
  ASSERT_EQ(search.culprits.size(), 3U);
  EXPECT_THAT(search.culprits[0].nodes, ElementsAre(7));
  EXPECT_EQ(search.culprits[0].part, Part::hca);
  EXPECT_THAT(search.culprits[0].devices, ElementsAre(3));
  EXPECT_EQ(search.culprits[1].part, Part::gpu);
  EXPECT_THAT(search.culprits[1].devices, ElementsAre(5));
  EXPECT_EQ(search.culprits[2].part, Part::untold);
  EXPECT_THAT(search.culprits[2].devices, IsEmpty());
  EXPECT_EQ(search.rounds, 4);
}

TEST(LocateTest, ASlowLinkAccusesNeitherOfItsNodes) {
  // By name order the pairs of the first round are i and i + 32.
  const auto search = search_on({.nodes = 64, .faults = {{Kind::slow_link, 4, 36, 0.6}}}, false);
  ASSERT_EQ(search.culprits.size(), 1U);
  EXPECT_EQ(search.culprits[0].kind, What::link);
  EXPECT_THAT(search.culprits[0].nodes, ElementsAre(4, 36));
  const auto all = search_on({.nodes = 12, .faults = {{Kind::slow_link, 4, 9, 0.6}}}, false);
  ASSERT_EQ(all.culprits.size(), 1U);
  EXPECT_EQ(all.culprits[0].kind, What::link);
  EXPECT_THAT(all.culprits[0].nodes, ElementsAre(4, 9));
}

TEST(LocateTest, ASlowLeafIsNamedAndNotItsNodes) {
  const auto search =
      search_on({.nodes = 128, .nodes_per_leaf = 16, .faults = {{Kind::slow_leaf, 2, 0, 0.7}}});
  ASSERT_EQ(search.culprits.size(), 1U);
  EXPECT_EQ(search.culprits[0].kind, What::leaf);
  EXPECT_EQ(search.culprits[0].leaf, 2);
  EXPECT_EQ(search.culprits[0].nodes.size(), 16U);
  EXPECT_THAT(search.culprits[0].ruled_out, Contains(HasSubstr("with each other")));
}

TEST(LocateTest, SlowNodesThatAreMostOfALeafAreNamedIfTheyAreSlowWithEachOther) {
  ModelCluster cluster{.nodes = 64, .nodes_per_leaf = 8, .noise = 0.01};
  for (const std::size_t node : {0U, 2U, 4U, 5U, 6U, 23U}) {
    cluster.faults.push_back({Kind::slow_node, node, 0, 0.9});
  }
  const auto search = search_on(cluster);
  EXPECT_EQ(accused(search), guilty(cluster));
  EXPECT_EQ(search.culprits.size(), 6U);
}

TEST(LocateTest, WhatHangsIsNamedAndTheRestIsMeasured) {
  const ModelCluster cluster{.nodes = 64,
                             .faults = {{Kind::hang, 9, 0, 1}, {Kind::slow_hca, 50, 2, 0.5}}};
  const auto search = search_on(cluster);
  EXPECT_THAT(accused(search), ElementsAre(9, 50));
  ASSERT_EQ(search.culprits.size(), 2U);
  EXPECT_TRUE(search.culprits[0].hung);
  EXPECT_FALSE(search.culprits[1].hung);
  const auto link = search_on({.nodes = 64, .faults = {{Kind::hang_link, 1, 33, 1}}}, false);
  ASSERT_EQ(link.culprits.size(), 1U);
  EXPECT_EQ(link.culprits[0].kind, What::link);
  EXPECT_TRUE(link.culprits[0].hung);
}

TEST(LocateTest, TwoBadPartnersOfOnePairAreBothNamed) {
  const ModelCluster cluster{
      .nodes = 64, .faults = {{Kind::slow_node, 3, 0, 0.8}, {Kind::slow_node, 35, 0, 0.6}}};
  EXPECT_THAT(accused(search_on(cluster, false)), ElementsAre(3, 35));
}

TEST(LocateTest, TenPercentOfBadNodesAreAllNamed) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    const auto cluster = with_faults({.nodes = 200, .seed = seed}, Kind::slow_node, 20, 0.85);
    EXPECT_EQ(accused(search_on(cluster)), guilty(cluster)) << seed;
  }
}

TEST(LocateTest, DriftIsNobodysFault) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const ModelCluster cluster{
        .nodes = 64, .drift = 0.05, .seed = seed, .faults = {{Kind::slow_node, 8, 0, 0.85}}};
    EXPECT_THAT(accused(search_on(cluster)), ElementsAre(8)) << seed;
  }
}

TEST(LocateTest, OfAnOddNumberEveryNodeIsMeasured) {
  const ModelCluster cluster{.nodes = 65, .faults = {{Kind::slow_node, 64, 0, 0.8}}};
  EXPECT_THAT(accused(search_on(cluster)), ElementsAre(64));
}

TEST(LocateTest, TooFewToCompareIsNotHealthy) {
  const auto two = search_on({.nodes = 2});
  ASSERT_EQ(two.culprits.size(), 1U);
  EXPECT_EQ(two.culprits[0].kind, What::not_enough_data);
  Plan plan;
  plan.rule.floor_gbps = 150;
  EXPECT_THAT(search_on({.nodes = 2}, false, plan).culprits, IsEmpty());
  const auto slow = search_on({.nodes = 3, .faults = {{Kind::slow_node, 1, 0, 0.5}}}, false, plan);
  EXPECT_THAT(accused(slow), ElementsAre(1));
}

TEST(LocateTest, AllSlowNamesNobody) {
  Plan plan;
  plan.rule.floor_gbps = 185;
  const auto search = search_on({.nodes = 64, .gbps = 120}, true, plan);
  ASSERT_EQ(search.culprits.size(), 1U);
  EXPECT_EQ(search.culprits[0].kind, What::everyone);
  EXPECT_THAT(search.culprits[0].nodes, IsEmpty());
}

TEST(LocateTest, NoiseThatHidesALossIsSaid) {
  const auto search = search_on({.nodes = 64, .noise = 0.2});
  ASSERT_FALSE(search.culprits.empty());
  EXPECT_EQ(search.culprits[0].kind, What::not_enough_data);
  EXPECT_THAT(accused(search), IsEmpty());
}

// As much of the cluster is slow as is not: which of the two is right, no comparison of pairs
// tells. The leaf switches do, where they are known.
TEST(LocateTest, TwoRatesAreSaidWhereNoLimitTellsWhichIsRight) {
  const ModelCluster cluster{
      .nodes = 64, .nodes_per_leaf = 16, .noise = 0.01, .faults = {{Kind::slow_leaf, 2, 0, 0.7}}};
  const auto undecided = search_on(cluster, false);
  ASSERT_FALSE(undecided.culprits.empty());
  EXPECT_EQ(undecided.culprits[0].kind, What::not_enough_data);
  EXPECT_THAT(undecided.culprits[0].evidence[0],
              AllOf(HasSubstr("16 pairs reach 130"), HasSubstr("and 16 reach 186")));
  EXPECT_THAT(accused(undecided), IsEmpty());
  for (const auto& plan : {Plan{}, with_limit()}) {
    const auto decided = search_on(cluster, true, plan);
    ASSERT_EQ(decided.culprits.size(), 1U);
    EXPECT_EQ(decided.culprits[0].kind, What::leaf);
    EXPECT_EQ(decided.culprits[0].leaf, 2);
  }
}

// The odd one out meets each partner once: a slow path to one of them is none of its own.
TEST(LocateTest, ASlowLinkOfTheOddOneOutIsNoSlowNode) {
  for (const auto kind : {Kind::slow_link, Kind::hang_link}) {
    for (const std::size_t nodes : {17U, 33U}) {
      for (std::size_t other = 0; other + 1 < nodes; ++other) {
        const ModelCluster cluster{
            .nodes = nodes, .nodes_per_leaf = 16, .faults = {{kind, nodes - 1, other, 0.5}}};
        EXPECT_THAT(accused(search_on(cluster)), IsEmpty()) << nodes << ", " << other;
      }
    }
  }
}

TEST(LocateTest, TwoNodesBelowTheLimitAreNotHealthy) {
  Plan plan;
  plan.rule.floor_gbps = 170;
  const auto slow =
      search_on({.nodes = 2, .noise = 0.01, .faults = {{Kind::slow_node, 1, 0, 0.5}}}, true, plan);
  ASSERT_FALSE(slow.culprits.empty());
  EXPECT_LT(slow.culprits[0].gbps, 100);
  const auto hung = search_on({.nodes = 2, .faults = {{Kind::hang, 1, 0, 0}}}, true, plan);
  ASSERT_FALSE(hung.culprits.empty());
  EXPECT_TRUE(hung.culprits[0].hung);
}

// A median that is slow itself is no measure.
TEST(LocateTest, WhereMostPairsAreSlowNobodyIsHealthy) {
  const auto of_leaf = search_on(
      {.nodes = 24, .nodes_per_leaf = 8, .noise = 0.01, .faults = {{Kind::slow_leaf, 0, 0, 0.6}}});
  ASSERT_FALSE(of_leaf.culprits.empty());
  EXPECT_EQ(of_leaf.culprits[0].kind, What::leaf);
  ModelCluster many{.nodes = 64, .noise = 0.01};
  for (std::size_t node = 0; node < 22; ++node)
    many.faults.push_back({Kind::slow_node, node, 0, 0.6});
  const auto of_nodes = search_on(many);
  ASSERT_FALSE(of_nodes.culprits.empty());
  EXPECT_EQ(of_nodes.culprits[0].kind, What::not_enough_data);
}

TEST(LocateTest, AFullTournamentOfManyNodesNamesThem) {
  const auto cluster = with_faults({.nodes = 256, .seed = 4}, Kind::slow_hca, 6, 0.7);
  const auto search = search_on(cluster, true, {.strategy = Strategy::tournament});
  EXPECT_EQ(accused(search), guilty(cluster));
}

TEST(LocateTest, ALinkThatNoPairOfTheFirstRoundHasIsFoundByHalves) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const auto cluster = with_faults({.nodes = 64, .seed = seed}, Kind::slow_link, 1, 0.6);
    const auto search = search_on(cluster);
    ASSERT_EQ(search.culprits.size(), 1U) << seed;
    EXPECT_EQ(search.culprits[0].kind, What::link);
    const auto& fault = cluster.faults[0];
    EXPECT_THAT(search.culprits[0].nodes, UnorderedElementsAre(fault.first, fault.second)) << seed;
    ASSERT_TRUE(search.together);
    EXPECT_EQ(search.together->nodes.size(), 63U);
    EXPECT_GT(search.together->gbps.value_or(0), 170);
  }
}

TEST(LocateTest, SeveralLinksAndANodeAreFoundOneAfterTheOther) {
  const ModelCluster cluster{.nodes = 100,
                             .faults = {{Kind::slow_link, 3, 80, 0.6},
                                        {Kind::slow_link, 41, 12, 0.5},
                                        {Kind::hang_link, 50, 51, 1},
                                        {Kind::slow_node, 77, 0, 0.8}}};
  const auto search = search_on(cluster);
  EXPECT_THAT(accused(search), ElementsAre(77));
  std::set<std::set<Node>> links;
  for (const auto* link : culprits_of(search, What::link)) {
    links.insert({link->nodes.begin(), link->nodes.end()});
  }
  EXPECT_THAT(links, UnorderedElementsAre(std::set<Node>{3, 80}, std::set<Node>{12, 41},
                                          std::set<Node>{50, 51}));
  EXPECT_EQ(search.together->nodes.size(), 96U);
}

TEST(LocateTest, ANodeThatIsSlowInLargeGroupsAloneIsNamed) {
  for (const auto strategy : {Strategy::automatic, Strategy::bisect}) {
    const ModelCluster cluster{.nodes = 64, .faults = {{Kind::slow_large, 23, 12, 0.6}}};
    const auto search = search_on(cluster, true, {.strategy = strategy});
    EXPECT_THAT(accused(search), ElementsAre(23));
    EXPECT_EQ(search.culprits[0].together, 16U);
    EXPECT_THAT(search.culprits[0].evidence, Contains(HasSubstr("as many others: 1")));
  }
}

// Every group of 16 nodes reaches a part of what pairs do, whoever is in it.
TEST(LocateTest, WhatLargeGroupsLoseIsNobodysFault) {
  ModelCluster cluster{.nodes = 64};
  for (std::size_t node = 0; node < 64; ++node) {
    cluster.faults.push_back({Kind::slow_large, node, 16, 0.7});
  }
  const auto search = search_on(cluster);
  EXPECT_THAT(search.culprits, IsEmpty());
  ASSERT_TRUE(search.together);
  EXPECT_TRUE(falls_behind(search.together->gbps, *search.scale));
}

TEST(LocateTest, ADeviceThatIsSlowOnEveryNodeIsNoNodesFault) {
  const ModelCluster cluster{.nodes = 32, .faults = {{Kind::slow_rail, 5, 0, 0.5}}};
  Plan plan;
  plan.rule.floor_gbps = 180;
  for (const auto& each : {plan, Plan{}, Plan{.strategy = Strategy::rails}}) {
    const auto search = search_on(cluster, true, each);
    ASSERT_EQ(search.culprits.size(), 1U);
    EXPECT_EQ(search.culprits[0].kind, What::rail);
    EXPECT_THAT(search.culprits[0].devices, ElementsAre(5));
    EXPECT_NEAR(search.culprits[0].share, 0.5, 0.02);
  }
}

TEST(LocateTest, RailsNameTheNodeAndItsDevice) {
  const ModelCluster cluster{
      .nodes = 33,
      .faults = {
          {Kind::slow_hca, 7, 3, 0.5}, {Kind::slow_gpu, 20, 6, 0.7}, {Kind::slow_rail, 1, 0, 0.6}}};
  const auto search = search_on(cluster, true, {.strategy = Strategy::rails});
  EXPECT_THAT(accused(search), ElementsAre(7, 20));
  ASSERT_EQ(search.culprits.size(), 3U);
  EXPECT_EQ(search.culprits[0].kind, What::rail);
  EXPECT_EQ(search.culprits[1].part, Part::hca);
  EXPECT_THAT(search.culprits[1].devices, ElementsAre(3));
  EXPECT_EQ(search.culprits[2].part, Part::gpu);
  EXPECT_THAT(search.culprits[2].devices, ElementsAre(6));
}

TEST(LocateTest, FabricTellsLevelsLeavesAndNodesApart) {
  const ModelCluster healthy{.nodes = 128, .nodes_per_leaf = 8, .leaves_per_pod = 4};
  const auto on = [&](std::vector<ModelFault> faults) {
    auto cluster = healthy;
    cluster.faults = std::move(faults);
    return search_on(cluster, true, {.strategy = Strategy::fabric});
  };
  EXPECT_THAT(on({}).culprits, IsEmpty());
  for (const std::size_t level : {1U, 2U}) {
    const auto slow = on({{Kind::slow_level, level, 0, 0.6}});
    ASSERT_EQ(slow.culprits.size(), 1U);
    EXPECT_EQ(slow.culprits[0].kind, What::level);
    EXPECT_THAT(slow.culprits[0].evidence,
                ElementsAre(HasSubstr(level == 1 ? "what crosses leaf switches reaches"
                                                 : "what crosses the switches above")));
  }
  const auto leaf = on({{Kind::slow_leaf, 3, 0, 0.7}});
  ASSERT_EQ(leaf.culprits.size(), 1U);
  EXPECT_EQ(leaf.culprits[0].kind, What::leaf);
  EXPECT_EQ(leaf.culprits[0].leaf, 3);
  const auto node = on({{Kind::slow_hca, 100, 2, 0.5}});
  EXPECT_THAT(accused(node), ElementsAre(100));
  EXPECT_EQ(node.culprits[0].part, Part::hca);
}

// With a limit that nobody reaches, the levels are looked at without being asked for.
TEST(LocateTest, AllSlowAcrossSwitchesNamesTheLevel) {
  Plan plan;
  plan.rule.floor_gbps = 180;
  const ModelCluster cluster{
      .nodes = 64, .nodes_per_leaf = 8, .faults = {{Kind::slow_level, 1, 0, 0.6}}};
  const auto search = search_on(cluster, true, plan);
  ASSERT_EQ(search.culprits.size(), 1U);
  EXPECT_EQ(search.culprits[0].kind, What::level);
}

// With one leaf switch in two or three, most pairs cross the slow one.
TEST(LocateTest, ASlowLeafOfFewIsNamedByAllPairs) {
  for (const std::size_t nodes : {12U, 13U, 16U}) {
    const ModelCluster cluster{.nodes = nodes,
                               .nodes_per_leaf = 4,
                               .noise = 0.01,
                               .faults = {{Kind::slow_leaf, 1, 0, 0.6}}};
    for (const auto& plan : {Plan{}, with_limit()}) {
      const auto search = search_on(cluster, true, plan);
      ASSERT_EQ(search.culprits.size(), 1U) << nodes;
      EXPECT_EQ(search.culprits[0].kind, What::leaf);
      EXPECT_THAT(search.culprits[0].nodes, ElementsAre(4, 5, 6, 7));
      ASSERT_TRUE(search.together);
      EXPECT_GT(search.together->gbps.value_or(0), 170);
    }
  }
}

// Which of two leaf switches it is, or what is between them, nothing tells.
TEST(LocateTest, OfTwoLeavesThePathBetweenThemIsNamed) {
  for (const std::size_t nodes : {8U, 40U}) {
    const ModelCluster cluster{.nodes = nodes,
                               .nodes_per_leaf = nodes / 2,
                               .noise = 0.01,
                               .faults = {{Kind::slow_leaf, 0, 0, 0.6}}};
    const auto search = search_on(cluster, true, with_limit());
    ASSERT_EQ(search.culprits.size(), 1U) << nodes;
    EXPECT_EQ(search.culprits[0].kind, What::level);
    EXPECT_THAT(search.culprits[0].evidence, ElementsAre(HasSubstr("between leaf0 and leaf1")));
  }
}

TEST(LocateTest, TwoSlowLeavesOfFourAreNoLevel) {
  const ModelCluster cluster{
      .nodes = 32,
      .nodes_per_leaf = 8,
      .noise = 0.01,
      .faults = {{Kind::slow_leaf, 0, 0, 0.6}, {Kind::slow_leaf, 2, 0, 0.7}}};
  for (const auto& plan : {Plan{}, with_limit()}) {
    const auto search = search_on(cluster, true, plan);
    ASSERT_EQ(search.culprits.size(), 2U);
    EXPECT_EQ(search.culprits[0].leaf, 0);
    EXPECT_EQ(search.culprits[1].leaf, 2);
  }
}

// Half of the nodes are slow: no level of switches is, and none of the others is accused.
TEST(LocateTest, ManySlowNodesAreNoLevel) {
  ModelCluster cluster{.nodes = 64, .nodes_per_leaf = 16, .noise = 0.01};
  for (std::size_t node = 0; node < 64; node += 2) {
    cluster.faults.push_back({Kind::slow_node, node, 0, 0.6});
  }
  const auto search = search_on(cluster, true, with_limit());
  EXPECT_THAT(culprits_of(search, What::level), IsEmpty());
  EXPECT_THAT(guilty(cluster), IsSupersetOf(accused(search)));
}

TEST(LocateTest, ANodeBesideASlowSwitchIsNamed) {
  for (const auto kind : {Kind::slow_leaf, Kind::slow_level}) {
    const ModelCluster cluster{
        .nodes = 64,
        .nodes_per_leaf = 8,
        .noise = 0.01,
        .faults = {{kind, 1, 0, 0.6}, {Kind::slow_hca, 12, 3, 0.5}, {Kind::slow_gpu, 40, 1, 0.5}}};
    const auto search = search_on(cluster, true, with_limit());
    ASSERT_EQ(search.culprits.size(), 3U);
    EXPECT_EQ(search.culprits[0].kind, kind == Kind::slow_leaf ? What::leaf : What::level);
    EXPECT_THAT(accused(search), ElementsAre(12, 40));
  }
}

// Without a topology: nodes that are slow with all others, and not with each other, are behind
// something slow.
TEST(LocateTest, NodesThatAreFineAmongThemselvesAreNotAccused) {
  for (const std::size_t nodes : {12U, 64U}) {
    const ModelCluster cluster{.nodes = nodes,
                               .nodes_per_leaf = 4,
                               .noise = 0.01,
                               .faults = {{Kind::slow_leaf, 1, 0, 0.6}}};
    const auto search = search_on(cluster, false, with_limit());
    EXPECT_THAT(accused(search), IsEmpty()) << nodes;
    ASSERT_EQ(search.culprits.size(), 1U) << nodes;
    EXPECT_THAT(search.culprits[0].evidence, ElementsAre(HasSubstr("sim[4-7]")));
  }
}

// The switch of some nodes is slow, that of others is only while all work: neither has a name.
TEST(LocateTest, ASwitchThatNobodyNamedIsSaidByItsNodes) {
  const ModelCluster cluster{
      .nodes = 16,
      .nodes_per_leaf = 2,
      .noise = 0.01,
      .faults = {{Kind::congestion, 1, 0, 0.4}, {Kind::slow_leaf, 7, 0, 0.4}}};
  const auto nodes = nodes_of(cluster, false);
  const auto plan = with_limit();
  const auto search = search_on(cluster, false, plan);
  ASSERT_EQ(culprits_of(search, What::leaf).size(), 1U);
  EXPECT_THAT(findings_of(search, nodes, plan.rule),
              Contains(::testing::Field(&Finding::device, "sim[14-15]")));
  EXPECT_THAT(excluded(search, nodes, plan.rule), ElementsAre(14, 15));
}

TEST(LocateTest, ADeviceThatIsSlowOnEveryNodeIsFoundBesideABadOne) {
  const ModelCluster cluster{.nodes = 32,
                             .noise = 0.01,
                             .faults = {{Kind::slow_rail, 5, 0, 0.6}, {Kind::slow_hca, 7, 3, 0.3}}};
  const auto search = search_on(cluster);
  ASSERT_EQ(search.culprits.size(), 2U);
  EXPECT_EQ(search.culprits[0].kind, What::rail);
  EXPECT_THAT(accused(search), ElementsAre(7));
}

// One slow HCA of two nodes is no rail.
TEST(LocateTest, OfOnePairNoRailIsNamed) {
  const auto search =
      search_on({.nodes = 2, .faults = {{Kind::slow_hca, 1, 3, 0.5}}}, false, with_limit());
  EXPECT_THAT(culprits_of(search, What::rail), IsEmpty());
  ASSERT_FALSE(search.culprits.empty());
  EXPECT_EQ(search.culprits[0].kind, What::everyone);
}

// The one proven node of three shows what a device and a node by itself should reach.
TEST(LocateTest, AmongFewNodesThePartIsToldOrNone) {
  for (const std::size_t nodes : {4U, 5U, 6U}) {
    const auto part_of = [&](Kind kind) {
      const auto search = search_on({.nodes = nodes, .noise = 0.01, .faults = {{kind, 1, 2, 0.5}}},
                                    false, with_limit());
      EXPECT_THAT(accused(search), ElementsAre(1));
      return search.culprits.empty() ? Part::untold : search.culprits[0].part;
    };
    EXPECT_EQ(part_of(Kind::slow_node), Part::untold);
    EXPECT_EQ(part_of(Kind::slow_hca), Part::hca);
    EXPECT_EQ(part_of(Kind::slow_gpu), Part::gpu);
  }
}

// What reaches the limit is a measure, be it a single pair.
TEST(LocateTest, WithALimitOneGoodPairIsEnough) {
  const ModelCluster cluster{.nodes = 6,
                             .noise = 0.01,
                             .faults = {{Kind::slow_node, 0, 0, 0.6},
                                        {Kind::slow_node, 2, 0, 0.5},
                                        {Kind::slow_node, 5, 0, 0.7}}};
  EXPECT_THAT(accused(search_on(cluster, false, with_limit())), ElementsAre(0, 2, 5));
}

// Nothing is known of what three nodes should reach, and one of them never finishes.
TEST(LocateTest, WhatHangsAmongThreeNodesIsNamed) {
  EXPECT_THAT(accused(search_on({.nodes = 3, .faults = {{Kind::hang, 0, 0, 1}}}, false)),
              ElementsAre(0));
  const auto link = search_on({.nodes = 3, .faults = {{Kind::hang_link, 0, 2, 1}}}, false);
  EXPECT_THAT(accused(link), IsEmpty());
  ASSERT_EQ(culprits_of(link, What::link).size(), 1U);
}

TEST(LocateTest, ASlowNodeIsNoLinkHoweverItIsSearched) {
  for (const auto strategy : {Strategy::bisect, Strategy::rails, Strategy::fabric}) {
    const ModelCluster cluster{
        .nodes = 65, .noise = 0.01, .faults = {{Kind::slow_node, 64, 0, 0.5}}};
    const auto search = search_on(cluster, true, with_limit(strategy));
    ASSERT_EQ(search.culprits.size(), 1U);
    EXPECT_THAT(accused(search), ElementsAre(64));
  }
}

TEST(LocateTest, ALinkIsFoundHoweverItIsSearched) {
  for (const auto strategy : {Strategy::bisect, Strategy::rails, Strategy::fabric}) {
    const auto search = search_on({.nodes = 64, .faults = {{Kind::slow_link, 4, 36, 0.6}}}, true,
                                  with_limit(strategy));
    ASSERT_EQ(search.culprits.size(), 1U);
    EXPECT_EQ(search.culprits[0].kind, What::link);
  }
}

// It takes more than half of all nodes to show it: others cannot stand in for it.
TEST(LocateTest, ANodeThatIsSlowInVeryLargeGroupsIsFoundByLeavingItOut) {
  for (const std::size_t enough : {40U, 55U}) {
    const auto search =
        search_on({.nodes = 64, .noise = 0.01, .faults = {{Kind::slow_large, 23, enough, 0.6}}},
                  true, with_limit());
    EXPECT_THAT(accused(search), ElementsAre(23)) << enough;
    ASSERT_TRUE(search.together);
    EXPECT_EQ(search.together->nodes.size(), 63U);
  }
}

class Broken final : public Measurer {
 public:
  [[nodiscard]] Result<std::vector<Answer>> measure(const std::vector<Group>& /*groups*/,
                                                    int /*repeats*/) override {
    return make_error("the job is gone");
  }
};

TEST(LocateTest, AnErrorEndsTheSearch) {
  Broken broken;
  const auto search = locate(nodes_of({.nodes = 64}, false), broken, {});
  ASSERT_FALSE(search);
  EXPECT_EQ(search.error().message, "the job is gone");
}

// The same faults by both procedures.
TEST(ReadinessTest, FindsTheSameNodes) {
  const ModelCluster cluster{.nodes = 256,
                             .noise = 0.01,
                             .faults = {{Kind::slow_hca, 17, 2, 0.5},
                                        {Kind::slow_hca, 120, 4, 0.6},
                                        {Kind::slow_hca, 200, 1, 0.7}}};
  Model model(cluster);
  const auto theirs = readiness_procedure(256, model, {.inside_gbps = 215, .gbps = 175});
  ASSERT_TRUE(theirs);
  const auto ours = search_on(cluster, true, with_limit());
  EXPECT_EQ(accused(ours), guilty(cluster));
  EXPECT_EQ(std::set<Node>(theirs->accused.begin(), theirs->accused.end()), guilty(cluster));
  EXPECT_EQ(theirs->runs, 3);  // all show without NVLink; which HCA it is, nobody says
  EXPECT_EQ(ours.rounds, 4);
}

TEST(ReadinessTest, NeedsMoreRunsForWhatOnlyShowsBetweenNodes) {
  const ModelCluster cluster{
      .nodes = 256, .noise = 0.01, .faults = {{Kind::slow_link, 17, 145, 0.5}}};
  Model model(cluster);
  const auto theirs = readiness_procedure(256, model, {.inside_gbps = 215, .gbps = 175});
  ASSERT_TRUE(theirs);
  EXPECT_THAT(theirs->accused, ElementsAre(17, 145));
  const auto ours = search_on(cluster);
  ASSERT_EQ(ours.culprits.size(), 1U);
  EXPECT_THAT(ours.culprits[0].nodes, ElementsAre(17, 145));
  EXPECT_GT(theirs->runs, ours.rounds);
}

}  // namespace
}  // namespace muster::bench::locate
