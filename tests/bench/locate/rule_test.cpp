// SPDX-License-Identifier: Apache-2.0
#include "bench/locate/rule.hpp"

#include <gtest/gtest.h>

namespace muster::bench::locate {
namespace {

TEST(LocateRuleTest, ALowValueMissesTheDeviationsAndTheTolerance) {
  const auto quiet = scale_of({100, 100, 100, 100}, 0);
  ASSERT_TRUE(quiet);
  EXPECT_DOUBLE_EQ(quiet->limit, 95);  // five deviations of 0.5% are less than 5%
  const auto noisy = scale_of({100, 100, 100, 100}, 0.02);
  ASSERT_TRUE(noisy);
  EXPECT_DOUBLE_EQ(noisy->limit, 90);
  EXPECT_TRUE(noisy->low(89.9));
  EXPECT_FALSE(noisy->low(90.1));
}

TEST(LocateRuleTest, ABadMinorityDoesNotMoveTheMedian) {
  const auto scale = scale_of({100, 101, 99, 100, 100, 50, 40}, 0);
  ASSERT_TRUE(scale);
  EXPECT_DOUBLE_EQ(scale->median, 100);
  EXPECT_TRUE(scale->low(50));
}

TEST(LocateRuleTest, ThreeValuesAreTooFew) { EXPECT_FALSE(scale_of({100, 100, 50}, 0)); }

TEST(LocateRuleTest, ManyValuesNeedMoreDeviations) {
  // One side of a normal distribution: 1e-3 is 3.09 deviations, 1e-9 is 6.00.
  EXPECT_NEAR(deviations_for(1, 1e-3), 3.0902, 1e-3);
  EXPECT_NEAR(deviations_for(1'000'000, 1e-3), 5.9978, 1e-3);
}

TEST(LocateRuleTest, RepeatsGrowWithNoiseAndEnd) {
  EXPECT_EQ(repeats_for(0), 3);
  EXPECT_EQ(repeats_for(0.01), 3);
  EXPECT_EQ(repeats_for(0.02), 7);
  EXPECT_EQ(repeats_for(0.5), 16);
}

TEST(LocateRuleTest, NoiseIsTheDifferenceOfNeighbours) {
  EXPECT_EQ(noise_of({{100}, {50}}), 0);
  EXPECT_EQ(noise_of({{100, 100, 100}, {50, 50, 50}}), 0);
  EXPECT_NEAR(noise_of({{101, 99, 101}, {50.5, 49.5, 50.5}}), 0.02 * 1.4826 / 1.4142, 1e-4);
}

TEST(LocateRuleTest, OneMeasurementIsNotCertain) {
  const Scale scale{.count = 32, .median = 100, .deviation = 1, .limit = 95};
  EXPECT_EQ(odds_of(101, scale), 1);
  EXPECT_EQ(odds_of(50, scale), 1e4);
  EXPECT_LT(probability_of({1e4}), 0.99);
  EXPECT_GT(probability_of({1e4, 1e4}), 0.9999);
  EXPECT_NEAR(probability_of({}), 0.005, 1e-9);
}

}  // namespace
}  // namespace muster::bench::locate
