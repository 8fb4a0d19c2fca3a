// SPDX-License-Identifier: Apache-2.0
// What is slow only while all work accuses nobody.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/bench/locate/runs.hpp"

namespace muster::bench::locate {
namespace {

using ::testing::IsEmpty;
using ::testing::Not;
using Kind = ModelFault::Kind;
using What = Culprit::Kind;

TEST(LocateTest, CongestionAccusesNobody) {
  const ModelCluster cluster{
      .nodes = 256, .nodes_per_leaf = 16, .faults = {{Kind::congestion, 2, 0, 0.7}}};
  const auto search = search_on(cluster);
  ASSERT_EQ(search.culprits.size(), 1U);
  EXPECT_EQ(search.culprits[0].kind, What::congestion);
  EXPECT_EQ(search.culprits[0].nodes.size(), 32U);
  EXPECT_EQ(search.culprits[0].leaf, kNoLeaf);  // leaf 10 has the other ends of all pairs
}

TEST(LocateTest, CongestionOfFewNodesAccusesNobody) {
  for (const std::size_t nodes : {9U, 12U, 52U}) {
    const ModelCluster cluster{.nodes = nodes,
                               .nodes_per_leaf = 4,
                               .noise = 0.01,
                               .faults = {{Kind::congestion, 1, 0, 0.5}}};
    for (const bool topology : {true, false}) {
      const auto search = search_on(cluster, topology, with_limit());
      EXPECT_THAT(accused(search), IsEmpty()) << nodes;
      EXPECT_THAT(culprits_of(search, What::link), IsEmpty()) << nodes;
      EXPECT_THAT(culprits_of(search, What::leaf), IsEmpty()) << nodes;
      EXPECT_THAT(culprits_of(search, What::congestion), Not(IsEmpty())) << nodes;
    }
  }
}

// A few pairs at once are a crowd there, and one of them may stay just below the limit.
TEST(LocateTest, CongestionOfASmallLeafSwitchAccusesNoLink) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    ModelCluster cluster{.nodes = 15,
                         .nodes_per_leaf = 5,
                         .noise = 0.03,
                         .faults = {{Kind::congestion, seed % 3, 0, 0.8}}};
    cluster.seed = seed;
    const auto search = search_on(cluster, true, with_limit());
    EXPECT_THAT(culprits_of(search, What::link), IsEmpty()) << seed;
    EXPECT_THAT(culprits_of(search, What::congestion), Not(IsEmpty())) << seed;
  }
}

}  // namespace
}  // namespace muster::bench::locate
