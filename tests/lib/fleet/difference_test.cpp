// SPDX-License-Identifier: Apache-2.0
#include "lib/fleet/difference.hpp"

#include <gtest/gtest.h>

#include <random>

namespace muster::fleet {
namespace {

TEST(DifferenceTest, PairsAreComparedEachWithItself) {
  std::vector<std::pair<double, double>> pairs;
  for (int i = 0; i < 20; ++i) pairs.emplace_back(100 + 10 * i, 98 + 9.8 * i);
  pairs.emplace_back(0, 5);
  const auto difference = difference_of_pairs(pairs);
  ASSERT_TRUE(difference.has_value());
  EXPECT_EQ(difference->count, 20);
  EXPECT_NEAR(difference->share, -0.02, 1e-12);
  ASSERT_TRUE(difference->interval.has_value());
  EXPECT_NEAR(difference->interval->low, -0.02, 1e-12);
  EXPECT_FALSE(difference_of_pairs({}).has_value());
  EXPECT_FALSE(difference_of_pairs({{1, 2}, {1, 2}})->interval.has_value());
}

TEST(DifferenceTest, GroupsMayBeOtherDevices) {
  EXPECT_FALSE(difference_of_groups({}, {1}).has_value());
  EXPECT_FALSE(difference_of_groups({0}, {1}).has_value());
  EXPECT_DOUBLE_EQ(difference_of_groups({100, 101, 99}, {90, 91, 89})->share, -0.1);
  EXPECT_FALSE(difference_of_groups({100, 101, 99}, {90, 91, 89})->interval.has_value());
}

// 128 nodes that lose 1.6%, with a spread of 0.8% of nodes and 0.4% of runs, and some wild values.
TEST(DifferenceTest, TheIntervalHoldsTheTrueDifference) {
  std::mt19937 random(3);
  std::normal_distribution<double> normal;
  int pairs_held = 0, groups_held = 0;
  double width = 0;
  constexpr int kFleets = 400;
  for (int fleet = 0; fleet < kFleets; ++fleet) {
    std::vector<std::pair<double, double>> pairs;
    std::vector<double> first, second;
    for (int i = 0; i < 128; ++i) {
      const double own = 400 * (1 + 0.008 * normal(random));
      const double other = 400 * (1 + 0.008 * normal(random));
      const double wild = random() % 50 == 0 ? 0.7 : 1;
      pairs.emplace_back(own * (1 + 0.004 * normal(random)),
                         own * wild * 0.984 * (1 + 0.004 * normal(random)));
      first.push_back(own);
      second.push_back(other * wild * 0.984);
    }
    const auto holds = [](const std::optional<Difference>& difference) {
      const auto& interval = *difference->interval;
      return interval.low <= -0.016 && -0.016 <= interval.high;
    };
    const auto paired = difference_of_pairs(pairs);
    pairs_held += holds(paired) ? 1 : 0;
    width += (paired->interval->high - paired->interval->low) / kFleets;
    groups_held += holds(difference_of_groups(first, second)) ? 1 : 0;
  }
  EXPECT_GE(pairs_held, kFleets * 91 / 100);
  EXPECT_GE(groups_held, kFleets * 91 / 100);
  EXPECT_LE(width, 0.004);
}

}  // namespace
}  // namespace muster::fleet
