// SPDX-License-Identifier: Apache-2.0
#include "lib/statistics/statistics.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <random>

namespace muster {
namespace {

// From 1 to n, in an order in which no value resembles its neighbour.
std::vector<double> one_to(std::size_t n) {
  std::vector<double> mixed;
  for (std::size_t low = 1, high = n; low <= high; ++low, --high) {
    mixed.push_back(static_cast<double>(low));
    if (high != low) mixed.push_back(static_cast<double>(high));
  }
  return mixed;
}

// Normal values around 0 with the given correlation of neighbours.
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
  double given = 0;   // share of the series that have an interval
  double missed = 0;  // share of those intervals that do not contain the true median
};

Coverage coverage_of(std::size_t count, double correlation) {
  constexpr int kSeries = 500;
  std::mt19937_64 random(7);
  int given = 0;
  int missed = 0;
  for (int i = 0; i < kSeries; ++i) {
    const auto interval = median_interval_of(series(random, count, correlation));
    if (!interval) continue;
    ++given;
    if (interval->low > 0 || interval->high < 0) ++missed;
  }
  return {static_cast<double>(given) / kSeries,
          given == 0 ? 0 : static_cast<double>(missed) / given};
}

TEST(Median, IsTheMiddleValueOrTheMeanOfTheMiddleTwo) {
  EXPECT_EQ(median_of({7}), 7);
  EXPECT_EQ(median_of({10, 10, 10, 10, 1000}), 10);
  EXPECT_EQ(median_of({9, 1, 5, 3}), 4);
}

// The ranks are those of tables of the binomial distribution.
TEST(MedianInterval, UsesTheOrderStatisticsOfTheBinomialDistribution) {
  struct Case {
    std::size_t count;
    std::optional<Interval> expected;
  };

  for (const auto& [count, expected] :
       {Case{5, {}}, Case{6, Interval{1, 6}}, Case{8, Interval{1, 8}}, Case{9, Interval{2, 8}},
        Case{20, Interval{6, 15}}, Case{50, Interval{18, 33}}, Case{100, Interval{40, 61}},
        Case{1000, Interval{469, 532}}, Case{1001, Interval{469, 533}}}) {
    EXPECT_EQ(median_interval_of(one_to(count)), expected) << count;
  }
}

TEST(MedianInterval, ContainsTheMedianOfACorrelatedSeries) {
  for (const double correlation : {0.0, 0.3, 0.5, 0.8}) {
    for (const std::size_t count : {100U, 200U, 1000U}) {
      const auto [given, missed] = coverage_of(count, correlation);
      EXPECT_LE(missed, 0.08) << count << " values, " << correlation;
      EXPECT_GE(given, 0.9) << count << " values, " << correlation;
    }
  }
}

// No interval is better than one that is too narrow.
TEST(MedianInterval, NeedsSixIndependentValues) {
  const auto [given, missed] = coverage_of(20, 0.8);
  EXPECT_LE(given, 0.3);
  EXPECT_LE(given * missed, 0.08);
  EXPECT_GE(coverage_of(20, 0).given, 0.95);
}

TEST(IndependentValues, AreFewInACorrelatedSeriesWithAnOutlierToo) {
  std::mt19937_64 random(3);
  auto values = series(random, 200, 0.8);
  const auto before = independent_values(values);
  EXPECT_LE(before, 50);
  values[100] = 1e6;
  EXPECT_NEAR(independent_values(values), before, 0.2 * before);
}

TEST(Spread, HasALeastDeviationForEqualValues) {
  const Spread expected{.count = 5, .center = 100, .deviation = 0.5};
  EXPECT_EQ(spread_of({100, 100, 100, 100, 97}), expected);
  EXPECT_EQ(one_sided_spread_of({100, 100, 100, 100, 97}), expected);
}

TEST(Spread, OneSidedIgnoresTheSideOfTheFaults) {
  const auto spread = one_sided_spread_of({50, 60, 70, 99, 100, 101, 102});
  EXPECT_EQ(spread.center, 100.5);
  EXPECT_NEAR(spread.deviation, 1.4826, 1e-9);
  const auto mirrored = one_sided_spread_of({150, 140, 130, 101, 100, 99, 98}, Side::above);
  EXPECT_EQ(mirrored.center, 99.5);
  EXPECT_NEAR(mirrored.deviation, 1.4826, 1e-9);
}

TEST(Spread, OneSidedOfEqualValuesIgnoresOneThatIsBetter) {
  std::vector<double> values(10, 1450.3);
  values.push_back(1900);
  EXPECT_NEAR(one_sided_spread_of(values).deviation, 0.005 * 1450.3, 1e-6);
}

TEST(Outlier, IsFurtherThanTheDeviationsAndTheShare) {
  EXPECT_TRUE(is_outlier(50, {100, 101, 50, 99}, {.share = 0.03}));
  EXPECT_FALSE(is_outlier(98, {100, 101, 98, 99}, {.share = 0.03}));
  EXPECT_FALSE(is_outlier(96, {100, 100, 96, 100}, {.share = 0.05}));
  EXPECT_TRUE(is_outlier(94, {100, 100, 94, 100}, {.share = 0.05}));
  EXPECT_FALSE(is_outlier(94, {100, 100, 94, 100}, {.share = 0.05, .deviations = 20}));
}

TEST(Outlier, IsOnOneSideOnly) {
  const std::vector<double> latencies{10, 10, 10, 12};
  EXPECT_TRUE(is_outlier(12, latencies, {.share = 0.03, .side = Side::above}));
  EXPECT_FALSE(is_outlier(8, latencies, {.share = 0.03, .side = Side::above}));
  EXPECT_FALSE(is_outlier(12, latencies, {.share = 0.03}));
}

TEST(Outlier, NeedsEnoughSistersAndAPositiveCenter) {
  const std::vector<double> three{100, 50, 99};
  EXPECT_FALSE(is_outlier(50, three, {}));
  EXPECT_TRUE(is_outlier(50, three, {.fewest = 3}));
  EXPECT_FALSE(is_outlier(50, std::vector<double>(), {}));
  EXPECT_FALSE(is_outlier(-1, {0, 0, 0, 0, -1}, {}));
}

struct Detection {
  double found_percent = 0;
  double accused_per_10000 = 0;
};

// Simulates 128 nodes whose rates have a spread of 0.8%, some of them slower by `fault`.
Detection detection_of(double bad_share, double fault,
                       Spread (*spread_function)(const std::vector<double>&)) {
  constexpr int kFleets = 200;
  constexpr std::size_t kNodes = 128;
  const auto bad = static_cast<std::size_t>(std::lround(bad_share * kNodes));
  std::mt19937_64 random(1);
  std::normal_distribution<double> healthy(1, 0.008);
  int found = 0;
  int accused = 0;
  for (int fleet = 0; fleet < kFleets; ++fleet) {
    std::vector<double> rates(kNodes);
    for (std::size_t i = 0; i < kNodes; ++i) rates[i] = healthy(random) - (i < bad ? fault : 0);
    const auto spread = spread_function(rates);
    for (std::size_t i = 0; i < kNodes; ++i) {
      if (is_outlier(rates[i], spread, {.share = 0.03})) ++(i < bad ? found : accused);
    }
  }
  return {100.0 * found / (kFleets * static_cast<double>(bad)),
          1e4 * accused / (kFleets * static_cast<double>(kNodes - bad))};
}

// The shares that each rule finds with 2, 10, 20 and 40% of the nodes slower by 5%, and with 40%
// slower by 12%.
TEST(Outlier, OneSidedSpreadFindsFaultsOfManyNodes) {
  struct Case {
    double bad;
    double fault;
    double symmetric;
    double one_sided;
  };

  const auto one_sided = [](const std::vector<double>& rates) {
    return one_sided_spread_of(rates);
  };
  for (const auto& [bad, fault, by_mad, by_half] :
       {Case{0.02, 0.05, 83, 78}, Case{0.1, 0.05, 59, 76}, Case{0.2, 0.05, 18, 84},
        Case{0.4, 0.05, 0, 82}, Case{0.4, 0.12, 40, 97}}) {
    const auto mad = detection_of(bad, fault, spread_of);
    const auto half = detection_of(bad, fault, one_sided);
    EXPECT_NEAR(mad.found_percent, by_mad, 8) << bad << ", " << fault;
    EXPECT_NEAR(half.found_percent, by_half, 8) << bad << ", " << fault;
    EXPECT_LE(mad.accused_per_10000, 2) << bad << ", " << fault;
    EXPECT_LE(half.accused_per_10000, 2) << bad << ", " << fault;
  }
}

TEST(StatisticsTest, OfOneValueEqualIt) {
  EXPECT_EQ(
      statistics_of({7}),
      (Statistics{
          .count = 1, .median = 7, .p5 = 7, .p95 = 7, .min = 7, .mean = 7, .confidence = {}}));
}

TEST(StatisticsTest, AreInterpolatedAndDoNotDependOnTheOrder) {
  const auto statistics = statistics_of({9, 1, 5, 3});
  EXPECT_EQ(statistics.median, 4);
  EXPECT_EQ(statistics.min, 1);
  EXPECT_EQ(statistics.mean, 4.5);
  EXPECT_DOUBLE_EQ(statistics.p5, 1.3);
  EXPECT_DOUBLE_EQ(statistics.p95, 8.4);
}

TEST(StatisticsTest, ValuesThatShareAMeanCountOnce) {
  const std::vector<double> two_batches{1, 1, 1, 1, 1, 2, 2, 2, 2, 2};
  EXPECT_EQ(statistics_of(two_batches, 5).confidence, std::nullopt);
  const std::vector<double> ten{1, 2, 2, 1, 2, 1, 1, 2, 1, 2};
  EXPECT_EQ(statistics_of(ten, 1).confidence, (Interval{1, 2}));
}

TEST(StatisticsTest, AreNarrowEnoughWithinTheShare) {
  std::vector<double> values(20, 100);
  EXPECT_TRUE(narrow_enough(statistics_of(values), 0));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = i % 2 == 0 ? 98 : 102;
  EXPECT_FALSE(narrow_enough(statistics_of(values), 0.01));
  EXPECT_TRUE(narrow_enough(statistics_of(values), 0.02));
}

TEST(StatisticsTest, OfTooFewValuesAreNeverNarrow) {
  EXPECT_FALSE(narrow_enough(statistics_of({5, 5, 5, 5, 5}), 0.5));
}

// Half of the quantiles of chi-square with 2 (events + 1) degrees of freedom, as printed tables
// have them.
TEST(RatesTest, AgreesWithTabulatedChiSquare) {
  struct Row {
    std::int64_t events;
    double at_90, at_95, at_99;  // of chi-square with 2, 4, 6, ... degrees of freedom
  };

  for (const auto& [events, at_90, at_95, at_99] :
       std::array{Row{0, 4.605, 5.991, 9.210}, Row{1, 7.779, 9.488, 13.277},
                  Row{2, 10.645, 12.592, 16.812}, Row{3, 13.362, 15.507, 20.090},
                  Row{4, 15.987, 18.307, 23.209}, Row{9, 28.412, 31.410, 37.566},
                  Row{14, 40.256, 43.773, 50.892}}) {
    EXPECT_NEAR(2 * highest_mean(events, 0.90), at_90, 0.0006) << events;
    EXPECT_NEAR(2 * highest_mean(events, 0.95), at_95, 0.0006) << events;
    EXPECT_NEAR(2 * highest_mean(events, 0.99), at_99, 0.0006) << events;
  }
}

// Events that are likely enough from both bounds.
TEST(RatesTest, BoundsAreWhereTheCountIsUnlikely) {
  EXPECT_EQ(lowest_mean(0, 0.95), 0);
  for (const std::int64_t events : {1, 2, 5, 40}) {
    EXPECT_NEAR(share_of_at_most(events, highest_mean(events, 0.95)), 0.05, 1e-9);
    EXPECT_NEAR(1 - share_of_at_most(events - 1, lowest_mean(events, 0.95)), 0.05, 1e-9);
  }
}

// The posterior density, summed up.
TEST(RatesTest, RatesAboveAreTheTailOfTheirDistribution) {
  constexpr double kShape = 0.5, kExpected = 0.3, kFactor = 3, kStep = 1e-4;
  for (const std::int64_t events : {0, 1, 3, 6}) {
    double above = 0, all = 0;
    for (double factor = kStep / 2; factor < 60; factor += kStep) {
      const double density = std::pow(factor, kShape + static_cast<double>(events) - 1) *
                             std::exp(-(kShape + kExpected) * factor);
      all += density;
      if (factor > kFactor) above += density;
    }
    EXPECT_NEAR(share_of_rates_above(kFactor, events, kExpected, kShape), above / all, 2e-3)
        << events;
  }
}

}  // namespace
}  // namespace muster
