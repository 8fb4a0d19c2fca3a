// SPDX-License-Identifier: Apache-2.0

#include <set>

#include "bench/locate/rounds.hpp"
#include "bench/locate/simulation.hpp"
#include "tests/support/matchers.hpp"

namespace muster::bench::locate {
namespace {

TEST(ScheduleTest, PairsCrossLeafSwitches) {
  auto nodes = nodes_of({.nodes = 64}, true);
  std::swap(nodes.leaves[3], nodes.leaves[40]);
  std::set<Node> met;
  for (const auto& [a, b] : pairs_across(nodes)) {
    EXPECT_FALSE(nodes.share_leaf(a, b)) << a << " " << b;
    met.insert({a, b});
  }
  EXPECT_EQ(met.size(), 64U);
}

TEST(ScheduleTest, OneOfAnOddNumberRests) {
  EXPECT_THAT(pairs_across(nodes_of({.nodes = 5}, false)), ElementsAre(Pair{0, 2}, Pair{1, 3}));
}

TEST(ScheduleTest, ATournamentHasEveryPairOnceAndEachNodeOnceInARound) {
  for (const std::size_t count : {2U, 3U, 4U, 7U, 8U, 33U}) {
    std::set<Pair> all;
    std::size_t pairs = 0;
    for (std::size_t round = 0; round < tournament_rounds(count); ++round) {
      std::set<Node> met;
      for (const auto& pair : tournament_round(count, round)) {
        EXPECT_TRUE(met.insert(pair.first).second && met.insert(pair.second).second);
        all.insert(pair);
        ++pairs;
      }
    }
    EXPECT_EQ(all.size(), count * (count - 1) / 2) << count;
    EXPECT_EQ(pairs, all.size()) << count;
  }
  EXPECT_EQ(tournament_rounds(8), 7U);
  EXPECT_EQ(tournament_rounds(7), 7U);
  EXPECT_EQ(tournament_rounds(1), 0U);
}

TEST(ScheduleTest, PartnersAreDistinctAndOfAnotherLeafIfPossible) {
  const auto nodes = nodes_of({.nodes = 8, .nodes_per_leaf = 4}, true);
  std::vector<Node> partners{1, 5, 2, 6};
  EXPECT_THAT(pair_with({0, 4, 7}, partners, nodes),
              ElementsAre(Pair{0, 5}, Pair{4, 1}, Pair{7, 2}));
  EXPECT_THAT(partners, ElementsAre(6));
  EXPECT_THAT(pair_with({4, 0}, partners, nodes), ElementsAre(Pair{4, 6}));
  EXPECT_THAT(partners, IsEmpty());
}

}  // namespace
}  // namespace muster::bench::locate
