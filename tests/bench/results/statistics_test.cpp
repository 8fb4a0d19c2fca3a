// SPDX-License-Identifier: Apache-2.0
#include "bench/results/statistics.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace muster::bench {
namespace {

TEST(StatisticsTest, OfOneValueEqualIt) {
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

}  // namespace
}  // namespace muster::bench
