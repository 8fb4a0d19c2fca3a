// SPDX-License-Identifier: Apache-2.0
#include "bench/results/statistics.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <random>

namespace muster::bench {
namespace {

// From 1 to n, in an order in which no value resembles the one before it.
std::vector<double> one_to(std::size_t n) {
  std::vector<double> values(n);
  std::iota(values.begin(), values.end(), 1.0);
  std::vector<double> mixed;
  for (std::size_t i = 0; i < (n + 1) / 2; ++i) {
    mixed.push_back(values[i]);
    if (n - 1 - i != i) mixed.push_back(values[n - 1 - i]);
  }
  return mixed;
}

// Normal values around 0, each with that correlation to the one before it.
std::vector<double> series(std::mt19937_64& random, std::size_t count, double correlation) {
  std::normal_distribution<double> normal;
  std::vector<double> values;
  double value = normal(random);
  for (std::size_t i = 0; i < count; ++i) {
    values.push_back(value);
    value = correlation * value + std::sqrt(1 - correlation * correlation) * normal(random);
  }
  return values;
}

struct Coverage {
  double given = 0;   // the share of the series that have an interval
  double missed = 0;  // the share of them whose interval does not hold the true median
};

Coverage coverage_of(std::size_t count, double correlation) {
  constexpr int kSeries = 2000;
  std::mt19937_64 random(7);
  int given = 0;
  int missed = 0;
  for (int i = 0; i < kSeries; ++i) {
    const auto interval = statistics_of(series(random, count, correlation)).confidence;
    if (!interval) continue;
    ++given;
    if (interval->low > 0 || interval->high < 0) ++missed;
  }
  return {static_cast<double>(given) / kSeries,
          given == 0 ? 0 : static_cast<double>(missed) / given};
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

  for (const auto& [count, expected] :
       {Case{5, {}}, Case{6, Interval{1, 6}}, Case{8, Interval{1, 8}}, Case{9, Interval{2, 8}},
        Case{20, Interval{6, 15}}, Case{50, Interval{18, 33}}, Case{100, Interval{40, 61}},
        Case{1000, Interval{469, 532}}, Case{1001, Interval{469, 533}}}) {
    EXPECT_EQ(statistics_of(one_to(count)).confidence, expected) << count;
  }
}

TEST(StatisticsTest, ValuesThatShareOneMeanCountOnce) {
  const std::vector<double> two_batches{1, 1, 1, 1, 1, 2, 2, 2, 2, 2};
  EXPECT_EQ(statistics_of(two_batches, 5).confidence, std::nullopt);
  const std::vector<double> ten{1, 2, 2, 1, 2, 1, 1, 2, 1, 2};
  EXPECT_EQ(statistics_of(ten, 1).confidence, (Interval{1, 2}));
}

TEST(StatisticsTest, TheIntervalHoldsTheMedianThoughIterationsResembleTheOnesBefore) {
  for (const double correlation : {0.0, 0.3, 0.5, 0.8}) {
    for (const std::size_t count : {100U, 200U, 1000U}) {
      const auto [given, missed] = coverage_of(count, correlation);
      EXPECT_LE(missed, 0.08) << count << " values, " << correlation;
      EXPECT_GE(given, 0.9) << count << " values, " << correlation;
    }
  }
}

// Of few values that resemble each other no interval is given, rather than one that is too narrow.
TEST(StatisticsTest, TooFewIndependentValuesHaveNoInterval) {
  const auto [given, missed] = coverage_of(20, 0.8);
  EXPECT_LE(given, 0.3);
  EXPECT_LE(given * missed, 0.08);
  EXPECT_GE(coverage_of(20, 0).given, 0.95);
}

TEST(StatisticsTest, OneOutlierHidesNoResemblance) {
  std::mt19937_64 random(3);
  auto values = series(random, 200, 0.8);
  const auto before = independent_values(values);
  EXPECT_LE(before, 50);
  values[100] = 1e6;
  EXPECT_NEAR(independent_values(values), before, 0.2 * before);
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

TEST(StatisticsTest, DeviationsHaveAFloorForValuesThatAreEqual) {
  EXPECT_EQ(spread_of({100, 100, 100, 100, 97}),
            (Spread{.count = 5, .median = 100, .deviation = 0.5}));
}

TEST(StatisticsTest, OneOfFourOrMoreIsFarBelowTheOthers) {
  EXPECT_TRUE(is_far_below(50, {100, 101, 50, 99}, 0.03));
  EXPECT_FALSE(is_far_below(98, {100, 101, 98, 99}, 0.03));
  EXPECT_FALSE(is_far_below(50, {100, 50, 99}, 0.03));
  EXPECT_FALSE(is_far_below(96, {100, 100, 96, 100}, 0.05));
}

}  // namespace
}  // namespace muster::bench
