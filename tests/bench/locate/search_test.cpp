// SPDX-License-Identifier: Apache-2.0
// The culprits that a search names on simulated clusters.

#include <ostream>

#include "bench/locate/findings.hpp"
#include "tests/bench/locate/search_runs.hpp"
#include "tests/support/matchers.hpp"

namespace muster::bench::locate {
namespace {

using ::testing::IsSupersetOf;
using Kind = Culprit::Kind;

enum class Known { nothing, limit, topology, both };

struct SearchCase {
  std::string_view name;
  std::string_view sim;
  std::string_view culprits;
  Known known = Known::both;
};

// NOLINTNEXTLINE(readability-identifier-naming): the name that gtest looks for
void PrintTo(const SearchCase& test, std::ostream* out) { *out << test.name; }

class LocateCase : public ::testing::TestWithParam<SearchCase> {};

TEST_P(LocateCase, NamesTheCulprits) {
  const auto& test = GetParam();
  const auto cluster = parse_sim(test.sim);
  ASSERT_TRUE(cluster) << cluster.error().message;
  const bool limit = test.known == Known::limit || test.known == Known::both;
  const bool topology = test.known == Known::topology || test.known == Known::both;
  EXPECT_EQ(text_of(search_on(*cluster, topology, {.floor = limit ? Floor(kLimit) : Floor()})),
            test.culprits);
}

std::string name_of_case(const ::testing::TestParamInfo<SearchCase>& it) {
  return std::string(it.param.name);
}

INSTANTIATE_TEST_SUITE_P(
    Nodes, LocateCase,
    ::testing::Values(
        SearchCase{"healthy", "nodes=64,noise=3%", ""},
        SearchCase{"node", "nodes=64,noise=3%,fault=slow_node:5:0.9", "node 5"},
        SearchCase{"node_of_few", "nodes=8,noise=3%,fault=slow_node:5:0.8", "node 5"},
        SearchCase{"odd_node_out", "nodes=65,noise=3%,fault=slow_node:64:0.8", "node 64"},
        SearchCase{"parts",
                   "nodes=64,noise=3%,fault=slow_hca:7:3:0.48,fault=slow_gpu:20:5:0.7,"
                   "fault=slow_node:41:0.8",
                   "node 7 HCA 3; node 20 GPU 5; node 41"},
        SearchCase{"hca_of_few", "nodes=4,noise=1%,fault=slow_hca:1:2:0.5", "node 1 HCA 2",
                   Known::limit},
        SearchCase{"gpu_of_few", "nodes=5,noise=1%,fault=slow_gpu:1:2:0.5", "node 1 GPU 2",
                   Known::limit},
        SearchCase{"hangs", "nodes=64,noise=3%,fault=hang:9,fault=slow_hca:50:2:0.5",
                   "node 9 hangs; node 50 HCA 2"},
        SearchCase{"rank_hangs", "nodes=64,noise=3%,fault=hang:73:5", "node 9 GPU 1 hangs"},
        SearchCase{"hang_of_three", "nodes=3,noise=3%,fault=hang:0", "node 0 hangs; undecided",
                   Known::nothing},
        SearchCase{"both_partners",
                   "nodes=64,noise=3%,fault=slow_node:3:0.8,fault=slow_node:35:0.6",
                   "node 35; node 3", Known::nothing},
        SearchCase{"most_of_few",
                   "nodes=6,noise=1%,fault=slow_node:0:0.6,fault=slow_node:2:0.5,"
                   "fault=slow_node:5:0.7",
                   "node 2; node 0; node 5", Known::limit},
        SearchCase{"most_of_a_leaf",
                   "nodes=64,leaf=8,noise=1%,fault=slow_node:0:0.82,fault=slow_node:2:0.84,"
                   "fault=slow_node:4:0.86,fault=slow_node:5:0.88,fault=slow_node:6:0.9,"
                   "fault=slow_node:23:0.78",
                   "node 23; node 0; node 2; node 4; node 5; node 6", Known::topology},
        SearchCase{"in_large_groups", "nodes=64,noise=3%,fault=slow_large:23:12:0.6",
                   "node 23 among 16"},
        SearchCase{"in_very_large_groups", "nodes=64,noise=1%,fault=slow_large:23:40:0.6",
                   "node 23 among 64"},
        SearchCase{"half_of_few",
                   "nodes=6,noise=1%,rate=150GB/s,fault=slow_node:0:0.6,fault=slow_node:3:0.8,"
                   "fault=slow_hca:5:1:0.5",
                   "everyone", Known::limit},
        SearchCase{"one_of_two", "nodes=2,fault=slow_hca:1:3:0.5", "everyone", Known::limit},
        SearchCase{"one_of_two_hangs", "nodes=2,fault=hang:1", "everyone hangs", Known::limit},
        SearchCase{"one_of_two_hangs_without_a_limit", "nodes=2,fault=hang:1", "everyone hangs",
                   Known::nothing},
        SearchCase{"the_link_of_two_hangs", "nodes=2,fault=hang_link:0:1", "everyone hangs",
                   Known::topology},
        SearchCase{"all_of_four_hang",
                   "nodes=4,fault=hang:0,fault=hang:1,fault=hang:2,fault=hang:3", "everyone hangs",
                   Known::nothing},
        SearchCase{
            "all_of_many_hang",
            "nodes=18,leaf=2,fault=hang_link:0:1,fault=slow_leaf:0:0.5,fault=hang:0,fault=hang:1,"
            "fault=hang:2,fault=hang:3,fault=hang:4,fault=hang:5,fault=hang:6,fault=hang:7,"
            "fault=hang:8,fault=hang:9,fault=hang:10,fault=hang:11,fault=hang:12,"
            "fault=hang:13,fault=hang:14,fault=hang:15,fault=hang:16,fault=hang:17",
            "everyone hangs", Known::topology},
        SearchCase{"two", "nodes=2", "undecided", Known::nothing},
        SearchCase{"two_at_the_limit", "nodes=2", "", Known::limit},
        SearchCase{"all_slow", "nodes=64,rate=120 GB/s,noise=3%", "everyone"},
        SearchCase{"all_over_tcp", "nodes=64,fault=tcp_fallback", "everyone"},
        SearchCase{"much_noise", "nodes=64,noise=20%", "undecided", Known::topology}),
    name_of_case);

INSTANTIATE_TEST_SUITE_P(
    LinksAndRails, LocateCase,
    ::testing::Values(
        // Without a topology the pairs of the first round are i and i + 32.
        SearchCase{"link", "nodes=64,noise=3%,fault=slow_link:4:36:0.6", "link 4-36",
                   Known::nothing},
        SearchCase{"link_of_few", "nodes=12,noise=3%,fault=slow_link:4:9:0.6", "link 4-9"},
        SearchCase{"links_and_a_node",
                   "nodes=100,noise=3%,fault=slow_link:3:80:0.6,fault=slow_link:41:12:0.5,"
                   "fault=hang_link:50:51,fault=slow_node:77:0.8",
                   "link 50-51 hangs; link 12-41; link 3-80; node 77"},
        SearchCase{"link_hangs", "nodes=64,noise=3%,fault=hang_link:1:33", "link 1-33 hangs",
                   Known::nothing},
        SearchCase{"rail", "nodes=32,noise=3%,fault=slow_rail:5:0.5", "rail 5"},
        SearchCase{"rail_without_a_limit", "nodes=32,noise=3%,fault=slow_rail:5:0.5", "rail 5",
                   Known::topology},
        SearchCase{"rail_and_nodes",
                   "nodes=33,noise=3%,fault=slow_hca:7:3:0.5,fault=slow_gpu:20:6:0.7,"
                   "fault=slow_rail:1:0.6",
                   "rail 1; node 7 HCA 3; node 20 GPU 6"},
        SearchCase{"rail_and_a_worse_node",
                   "nodes=32,noise=1%,fault=slow_rail:5:0.6,fault=slow_hca:7:3:0.3",
                   "rail 5; node 7 HCA 3", Known::topology}),
    name_of_case);

// Pairs inside a rack reach 741 GB/s over NVLink, pairs across racks 187 GB/s over HCAs.
INSTANTIATE_TEST_SUITE_P(
    Racks, LocateCase,
    ::testing::Values(
        SearchCase{"one_rack", "nodes=18,domain=18,inside=741GB/s,noise=1%,fault=slow_node:3:0.8",
                   "node 3"},
        SearchCase{"healthy_rack_and_two", "nodes=20,domain=18,inside=741GB/s,noise=1%", ""},
        SearchCase{"healthy_rack_and_a_part", "nodes=30,domain=18,inside=741GB/s,noise=3%", ""},
        SearchCase{"healthy_racks_and_a_part", "nodes=130,domain=18,inside=741GB/s,noise=3%", ""},
        SearchCase{"hca_of_the_rack",
                   "nodes=20,domain=18,inside=741GB/s,noise=1%,fault=slow_hca:1:2:0.7",
                   "node 1 HCA 2"},
        SearchCase{"hca_of_the_two",
                   "nodes=20,domain=18,inside=741GB/s,noise=1%,fault=slow_hca:18:2:0.7",
                   "node 18 HCA 2"},
        SearchCase{"hca_of_the_rack_without_a_limit",
                   "nodes=22,domain=18,inside=741GB/s,noise=1%,fault=slow_hca:1:2:0.7",
                   "node 1 HCA 2", Known::nothing},
        SearchCase{"hca_beside_a_part",
                   "nodes=30,domain=18,inside=741GB/s,noise=1%,fault=slow_hca:1:2:0.7",
                   "node 1 HCA 2"},
        SearchCase{"link_across",
                   "nodes=20,domain=18,inside=741GB/s,noise=1%,fault=slow_link:3:19:0.6",
                   "link 3-19"},
        // Its only partner is the other rack's only node.
        SearchCase{"rack_and_one",
                   "nodes=19,domain=18,inside=741GB/s,noise=1%,fault=slow_hca:1:2:0.7",
                   "undecided"},
        SearchCase{"rack",
                   "nodes=54,leaf=18,domain=18,inside=741GB/s,noise=1%,fault=slow_leaf:1:0.6",
                   "leaf 1"},
        SearchCase{"rack_without_a_topology",
                   "nodes=54,leaf=18,domain=18,inside=741GB/s,noise=1%,fault=slow_leaf:1:0.6",
                   "leaf of 18-19-20-21-22-23-24-25-26-27-28-29-30-31-32-33-34-35", Known::limit},
        SearchCase{"rail_across",
                   "nodes=40,domain=18,inside=741GB/s,noise=1%,fault=slow_rail:1:0.7", "rail 1"},
        SearchCase{"in_large_groups_across",
                   "nodes=40,domain=18,inside=741GB/s,noise=1%,fault=slow_large:38:12:0.6",
                   "node 38 among 20"}),
    name_of_case);

INSTANTIATE_TEST_SUITE_P(
    Switches, LocateCase,
    ::testing::Values(
        SearchCase{"leaf", "nodes=128,noise=3%,fault=slow_leaf:2:0.7", "leaf 2"},
        SearchCase{"leaf_without_a_limit", "nodes=64,noise=1%,fault=slow_leaf:2:0.7", "leaf 2",
                   Known::topology},
        SearchCase{"leaf_of_few", "nodes=12,leaf=4,noise=1%,fault=slow_leaf:1:0.6", "leaf 1"},
        // Nothing shows which side of the path is slow.
        SearchCase{"leaf_without_a_topology", "nodes=12,leaf=4,noise=1%,fault=slow_leaf:1:0.6",
                   "level", Known::limit},
        SearchCase{"two_leaves",
                   "nodes=32,leaf=8,noise=1%,fault=slow_leaf:0:0.6,"
                   "fault=slow_leaf:2:0.7",
                   "leaf 0; leaf 2"},
        SearchCase{"one_of_two_leaves", "nodes=40,leaf=20,noise=1%,fault=slow_leaf:0:0.6", "level"},
        SearchCase{"most_pairs_cross_it", "nodes=24,leaf=8,noise=1%,fault=slow_leaf:0:0.6",
                   "leaf 0", Known::topology},
        SearchCase{"first_level", "nodes=128,leaf=8,pod=4,noise=3%,fault=slow_level:1:0.6",
                   "level"},
        SearchCase{"second_level", "nodes=128,leaf=8,pod=4,noise=3%,fault=slow_level:2:0.6",
                   "level"},
        SearchCase{"leaf_and_nodes",
                   "nodes=64,leaf=8,noise=1%,fault=slow_leaf:1:0.6,fault=slow_hca:12:3:0.5,"
                   "fault=slow_gpu:40:1:0.7",
                   "node 12 HCA 3; leaf 1; node 40 GPU 1"},
        SearchCase{"level_and_nodes",
                   "nodes=64,leaf=8,noise=1%,fault=slow_level:1:0.6,fault=slow_hca:12:3:0.4,"
                   "fault=slow_gpu:40:1:0.5",
                   "level; node 12 HCA 3; node 40 GPU 1"},
        SearchCase{"two_rates", "nodes=64,noise=1%,fault=slow_leaf:2:0.7", "undecided",
                   Known::nothing},
        SearchCase{"congestion", "nodes=256,noise=3%,fault=congestion:2:0.7", "congestion"}),
    name_of_case);

TEST(LocateTest, HealthyClustersAccuseNothing) {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    for (const int nodes : {4, 9, 64}) {
      const SimCluster cluster{.nodes = nodes, .noise = Percent{3}, .seed = seed};
      const auto result = search_on(cluster, seed % 2 == 0);
      EXPECT_THAT(accused(result), IsEmpty()) << nodes << " nodes, seed " << seed;
      EXPECT_THAT(culprits_of(result, Kind::link), IsEmpty()) << nodes << ", seed " << seed;
    }
  }
}

TEST(LocateTest, NamesTenPercentOfBadNodes) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    const auto cluster = with_faults({.nodes = 200, .noise = Percent{3}, .seed = seed},
                                     SimFault::Kind::slow_node, 20, 0.85);
    EXPECT_EQ(accused(search_on(cluster)), guilty(cluster)) << seed;
  }
}

TEST(LocateTest, ATournamentOfManyNodesNamesThem) {
  const auto cluster =
      with_faults({.nodes = 256, .noise = Percent{3}, .seed = 4}, SimFault::Kind::slow_hca, 6, 0.7);
  const auto result = search_on(cluster, true, {.strategy = Strategy::tournament});
  EXPECT_EQ(accused(result), guilty(cluster));
}

TEST(LocateTest, EveryStrategyNamesASlowNodeAndASlowLink) {
  for (const auto strategy : {Strategy::bisect, Strategy::rails, Strategy::fabric}) {
    const auto node = search_on(cluster_of("nodes=65,noise=1%,fault=slow_node:64:0.5"), true,
                                {.strategy = strategy});
    EXPECT_THAT(accused(node), ElementsAre(64));
    const auto link =
        search_on(cluster_of("nodes=64,fault=slow_link:4:36:0.6"), true, {.strategy = strategy});
    EXPECT_EQ(text_of(link), "link 4-36");
  }
}

TEST(LocateTest, AStrategyMeasuresDevicesOrSwitchesFirst) {
  for (const auto& [strategy, sim, culprits] :
       {std::tuple{Strategy::rails,
                   "nodes=33,fault=slow_hca:7:3:0.5,fault=slow_gpu:20:6:0.7,fault=slow_rail:1:0.6",
                   "rail 1; node 7 HCA 3; node 20 GPU 6"},
        {Strategy::fabric, "nodes=128,leaf=8,pod=4,fault=slow_level:1:0.6", "level"}}) {
    EXPECT_EQ(text_of(search_on(cluster_of(sim), true, {.strategy = strategy})), culprits);
  }
}

TEST(LocateTest, NoStrategyComparesPathsInsideARackWithThoseAcross) {
  const auto racks = cluster_of("nodes=20,domain=18,inside=741GB/s,noise=1%");
  const auto sick = cluster_of("nodes=20,domain=18,inside=741GB/s,noise=1%,fault=slow_hca:1:2:0.7");
  for (const auto strategy :
       {Strategy::screen, Strategy::tournament, Strategy::rails, Strategy::fabric}) {
    const SearchOptions options{.strategy = strategy, .floor = kLimit};
    EXPECT_EQ(text_of(search_on(racks, true, options)), "") << static_cast<int>(strategy);
    EXPECT_EQ(text_of(search_on(sick, true, options)), "node 1 HCA 2")
        << static_cast<int>(strategy);
  }
}

TEST(LocateTest, DriftAccusesNoNode) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    auto cluster = cluster_of("nodes=64,noise=3%,drift=5%,fault=slow_node:8:0.85");
    cluster.seed = seed;
    EXPECT_THAT(accused(search_on(cluster)), ElementsAre(8)) << seed;
  }
}

TEST(LocateTest, BisectionFindsALinkAndExcludesIt) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const auto cluster = with_faults({.nodes = 64, .noise = Percent{3}, .seed = seed},
                                     SimFault::Kind::slow_link, 1, 0.6);
    const auto& fault = cluster.faults[0];
    const auto result = search_on(cluster);
    EXPECT_EQ(text_of(result), fmt::format("link {}-{}", std::min(fault.first, fault.second),
                                           std::max(fault.first, fault.second)));
    ASSERT_TRUE(result.together);
    EXPECT_EQ(result.together->nodes.size(), 63U);
    EXPECT_GT(result.together->gbps.value_or(0), kLimit);
  }
}

// It meets each partner once, so a slow path to one of them must not accuse it.
TEST(LocateTest, ASlowLinkOfTheUnpairedNodeAccusesNoNode) {
  for (const std::string_view fault : {"slow_link:{}:{}:0.5", "hang_link:{}:{}"}) {
    for (const int nodes : {17, 33}) {
      for (int other = 0; other + 1 < nodes; ++other) {
        const auto cluster =
            cluster_of(fmt::format("nodes={},noise=3%,fault={}", nodes,
                                   fmt::format(fmt::runtime(fault), nodes - 1, other)));
        EXPECT_THAT(accused(search_on(cluster)), IsEmpty()) << nodes << ", " << other;
      }
    }
  }
}

// Every `step`-th node of 64 has this fault.
SimCluster with_every(std::uint64_t step, const SimFault& fault, double noise) {
  SimCluster cluster{.nodes = 64, .noise = Percent{noise}};
  for (std::uint64_t node = 0; node < 64; node += step) {
    cluster.faults.push_back(fault);
    cluster.faults.back().first = node;
  }
  return cluster;
}

// Every group of 16 nodes is slower than its pairs, whichever nodes are in it.
TEST(LocateTest, ALossOfAllLargeGroupsAccusesNoNode) {
  const auto result = search_on(with_every(1, {SimFault::Kind::slow_large, 0, 16, 0.7}, 3));
  EXPECT_EQ(text_of(result), "");
  ASSERT_TRUE(result.together);
  EXPECT_TRUE(falls_behind(result.together->gbps, *result.scale));
}

TEST(LocateTest, ManySlowNodesAreNotALevel) {
  const auto cluster = with_every(2, {SimFault::Kind::slow_node, 0, 0, 0.6}, 1);
  const auto result = search_on(cluster, true, {.floor = kLimit});
  EXPECT_THAT(culprits_of(result, Kind::level), IsEmpty());
  EXPECT_THAT(guilty(cluster), IsSupersetOf(accused(result)));
}

TEST(LocateTest, CongestionOfFewNodesAccusesNothing) {
  for (const int nodes : {9, 12, 52}) {
    const auto cluster =
        cluster_of(fmt::format("nodes={},leaf=4,noise=1%,fault=congestion:1:0.5", nodes));
    for (const bool topology : {true, false}) {
      const auto result = search_on(cluster, topology, {.floor = kLimit});
      EXPECT_THAT(accused(result), IsEmpty()) << nodes;
      EXPECT_THAT(culprits_of(result, Kind::link), IsEmpty()) << nodes;
      EXPECT_THAT(culprits_of(result, Kind::leaf), IsEmpty()) << nodes;
      EXPECT_THAT(culprits_of(result, Kind::congestion), Not(IsEmpty())) << nodes;
    }
  }
}

// There even a few pairs at once cause congestion, and one of them may stay just below the limit.
TEST(LocateTest, CongestionOfASmallLeafSwitchAccusesNoLink) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    const auto cluster = cluster_of(
        fmt::format("nodes=15,leaf=5,noise=3%,seed={},fault=congestion:{}:0.8", seed, seed % 3));
    const auto result = search_on(cluster, true, {.floor = kLimit});
    EXPECT_THAT(culprits_of(result, Kind::link), IsEmpty()) << seed;
    EXPECT_THAT(culprits_of(result, Kind::congestion), Not(IsEmpty())) << seed;
  }
}

TEST(LocateTest, ACulpritHasEvidence) {
  const auto result =
      search_on(cluster_of("nodes=64,noise=3%,fault=slow_hca:7:3:0.5"), true, {.floor = kLimit});
  ASSERT_EQ(result.culprits.size(), 1U);
  const auto& culprit = result.culprits[0];
  EXPECT_NEAR(culprit.share, 0.5, 0.02);
  EXPECT_GT(culprit.probability, 0.999);
  EXPECT_THAT(culprit.evidence, Contains(HasSubstr("HCA 3 by itself")));
  EXPECT_THAT(culprit.ruled_out, Contains(HasSubstr("the links between its GPUs")));
  EXPECT_EQ(result.rounds, 4);
}

TEST(LocateTest, ASwitchWithoutANameIsNamedByItsNodes) {
  const auto cluster =
      cluster_of("nodes=16,leaf=2,noise=1%,fault=congestion:1:0.4,fault=slow_leaf:7:0.4");
  const auto result =
      search_on(cluster, false, {.floor = kLimit, .job_limit = [](auto) { return kLimit; }});
  EXPECT_THAT(findings_of(result), Contains(::testing::Field(&Finding::device, "sim[14-15]")));
  EXPECT_THAT(excluded(result), ElementsAre("sim14", "sim15"));
}

class BrokenMeasurer final : public Measurer {
 public:
  [[nodiscard]] Result<std::vector<GroupRates>> measure(const std::vector<NodeGroup>& /*groups*/,
                                                        int /*repeats*/) override {
    return make_error("the job is gone");
  }
};

TEST(LocateTest, AnErrorEndsTheSearch) {
  BrokenMeasurer broken;
  const auto result = locate(nodes_of({.nodes = 64}, false), broken, {});
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().message, "the job is gone");
}

}  // namespace
}  // namespace muster::bench::locate
