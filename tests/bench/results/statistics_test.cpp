// SPDX-License-Identifier: Apache-2.0
#include "bench/results/statistics.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

namespace muster::bench {
namespace {

std::vector<double> one_to(std::size_t n) {
  std::vector<double> values(n);
  std::iota(values.begin(), values.end(), 1.0);
  return values;
}

TEST(StatisticsTest, OfOneValueAreThatValue) {
  EXPECT_EQ(
      statistics_of({7}),
      (Statistics{
          .count = 1, .median = 7, .p5 = 7, .p95 = 7, .min = 7, .mean = 7, .confidence = {}}));
}

TEST(StatisticsTest, DoNotDependOnTheOrder) {
  const auto statistics = statistics_of({9, 1, 5, 3});
  EXPECT_EQ(statistics.median, 4);
  EXPECT_EQ(statistics.min, 1);
  EXPECT_EQ(statistics.mean, 4.5);
  EXPECT_DOUBLE_EQ(statistics.p5, 1.3);
  EXPECT_DOUBLE_EQ(statistics.p95, 8.4);
}

TEST(StatisticsTest, AnOutlierMovesTheMeanAndNotTheMedian) {
  const auto statistics = statistics_of({10, 10, 10, 10, 1000});
  EXPECT_EQ(statistics.median, 10);
  EXPECT_EQ(statistics.mean, 208);
}

// The ranks of tables of the binomial distribution: with 20 values the interval goes from the sixth
// to the fifteenth.
TEST(StatisticsTest, TheConfidenceOfTheMedianIsThatOfOrderStatistics) {
  struct Case {
    std::size_t count;
    std::optional<Interval> expected;
  };

  for (const auto& [count, expected] : {Case{5, {}},
                                        Case{6, Interval{1, 6}},
                                        Case{8, Interval{1, 8}},
                                        Case{9, Interval{2, 8}},
                                        Case{20, Interval{6, 15}},
                                        Case{50, Interval{18, 33}},
                                        Case{100, Interval{40, 61}},
                                        Case{1000, Interval{469, 532}},
                                        Case{1001, Interval{469, 533}}}) {
    EXPECT_EQ(statistics_of(one_to(count)).confidence, expected) << count;
  }
}

TEST(StatisticsTest, ValuesThatShareOneMeanCountOnce) {
  const std::vector<double> two_batches{1, 1, 1, 1, 1, 2, 2, 2, 2, 2};
  EXPECT_EQ(statistics_of(two_batches, 5).confidence, std::nullopt);
  EXPECT_EQ(statistics_of(two_batches, 1).confidence, (Interval{1, 2}));
}

TEST(StatisticsTest, IterationsEndWhenTheMedianIsKnownWellEnough) {
  std::vector<double> values(20, 100);
  EXPECT_TRUE(narrow_enough(statistics_of(values), 0));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = i % 2 == 0 ? 98 : 102;
  EXPECT_FALSE(narrow_enough(statistics_of(values), 0.01));
  EXPECT_TRUE(narrow_enough(statistics_of(values), 0.02));
}

TEST(StatisticsTest, TooFewValuesAreNeverEnough) {
  EXPECT_FALSE(narrow_enough(statistics_of({5, 5, 5, 5, 5}), 0.5));
}

}  // namespace
}  // namespace muster::bench
