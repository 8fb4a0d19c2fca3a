// SPDX-License-Identifier: Apache-2.0
#include "lib/statistics/rates.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>

namespace muster {
namespace {

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
