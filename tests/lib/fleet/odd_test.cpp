// SPDX-License-Identifier: Apache-2.0
#include "lib/fleet/odd.hpp"

#include <random>

#include "tests/support/matchers.hpp"

namespace muster::fleet {
namespace {

TEST(OddTest, NamesTheWorstFirst) {
  std::vector<double> values(30, 100);
  values[4] = 90;
  values[7] = 80;
  values[9] = 130;  // better
  const auto odd = find_odd_values(values, Side::below);
  EXPECT_THAT(odd.places, ElementsAre(7, 4));
  EXPECT_DOUBLE_EQ(odd.limit, 97);
  EXPECT_THAT(find_odd_values(values, Side::above).places, ElementsAre(9));
}

TEST(OddTest, NeedsEightValues) {
  std::vector<double> values(7, 100);
  values[0] = 50;
  EXPECT_TRUE(find_odd_values(values, Side::below).too_few);
  EXPECT_THAT(find_odd_values(values, Side::below).places, IsEmpty());
  values.push_back(100);
  EXPECT_THAT(find_odd_values(values, Side::below).places, ElementsAre(0));
}

// A spread of 0.8%: none of 10,000 good nodes, whether the fleet is fast or slow.
TEST(OddTest, AccusesNoGoodNode) {
  std::mt19937 random(5);
  std::normal_distribution<double> normal;
  std::size_t accused = 0;
  for (int fleet = 0; fleet < 80; ++fleet) {
    std::vector<double> values;
    for (int i = 0; i < 128; ++i) values.push_back((300 + fleet) * (1 + 0.008 * normal(random)));
    accused += find_odd_values(values, Side::below).places.size();
  }
  EXPECT_LE(accused, 1);
}

TEST(OddTest, FactsOfFewNodesDifferFromTheMajority) {
  const std::vector<NodeFacts> nodes{{"n1", "a", {{"driver", "570"}, {"kernel", "6.1"}}},
                                     {"n2", "a", {{"driver", "570"}, {"kernel", "6.1"}}},
                                     {"n3", "a", {{"driver", "580"}, {"kernel", "6.2"}}},
                                     {"n4", "b", {{"driver", "580"}}},
                                     {"n5", "a", {{"kernel", "6.2"}}}};
  EXPECT_THAT(find_odd_facts(nodes, 3), ElementsAre(OddFact{"a", "driver", "570", "580", {"n3"}}));
  EXPECT_THAT(find_odd_facts(nodes, 4), IsEmpty());
}

}  // namespace
}  // namespace muster::fleet
