// SPDX-License-Identifier: Apache-2.0
#include "lib/fleet/causes.hpp"

#include <cmath>
#include <random>

#include "tests/support/matchers.hpp"

namespace muster::fleet {
namespace {

// The probability of at most so many incidents, term by term.
double at_most(std::int64_t incidents, double expected) {
  double term = std::exp(-expected), sum = 0;
  for (std::int64_t i = 0; i <= incidents; ++i) {
    sum += term;
    term *= expected / static_cast<double>(i + 1);
  }
  return sum;
}

TEST(CausesTest, TheIntervalEqualsASlowImplementation) {
  std::mt19937 random(1);
  for (int i = 0; i < 50; ++i) {
    const auto exposure_h = static_cast<double>(10 + random() % 100000);
    const auto incidents = static_cast<std::int64_t>(random() % 30);
    const auto mtbf = mtbf_of(exposure_h, incidents);
    EXPECT_NEAR(at_most(incidents, exposure_h / mtbf.low_h), 0.05, 1e-9);
    EXPECT_EQ(mtbf.hours.has_value(), incidents > 0);
    ASSERT_EQ(mtbf.high_h.has_value(), incidents > 0);
    if (incidents == 0) continue;
    EXPECT_NEAR(at_most(incidents - 1, exposure_h / *mtbf.high_h), 0.95, 1e-9);
    EXPECT_DOUBLE_EQ(*mtbf.hours, exposure_h / static_cast<double>(incidents));
  }
}

// 90% of intervals hold the true mean; discrete counts make it more.
TEST(CausesTest, TheIntervalHoldsTheTrueMean) {
  std::mt19937 random(2);
  std::poisson_distribution<std::int64_t> incidents(6);
  int held = 0;
  for (int i = 0; i < 2000; ++i) {
    const auto mtbf = mtbf_of(600, incidents(random));
    held += mtbf.low_h <= 100 && 100 <= mtbf.high_h.value_or(1e9) ? 1 : 0;
  }
  EXPECT_GE(held, 1800);
  EXPECT_LE(held, 1960);
}

TEST(CausesTest, WithoutAnIncidentThereIsOnlyABound) {
  EXPECT_EQ(mtbf_text(mtbf_of(3000, 0)), "> 1001 h");
  EXPECT_EQ(mtbf_text(mtbf_of(3000, 10)), "300 h (177 to 553)");
  EXPECT_EQ(mtbf_text(mtbf_of(6, 1)), "6.0 h (1.3 to 117)");
  EXPECT_EQ(mtbf_text(mtbf_of(0, 0)), "not known");
  EXPECT_EQ(mtbf_text(mtbf_of(0, 2)), "not known");
}

TEST(CausesTest, TheMostExpensiveIsFirst) {
  const auto rows = pareto_of({{"b", 3, 10, 100}, {"a", 1, 30, 100}, {"c", 9, 0, 100}});
  ASSERT_EQ(rows.size(), 3);
  EXPECT_EQ(rows[0].key, "a");
  EXPECT_DOUBLE_EQ(rows[0].share, 0.75);
  EXPECT_EQ(rows[1].key, "b");
  EXPECT_DOUBLE_EQ(rows[1].cumulated, 1);
  EXPECT_EQ(rows[2].key, "c");
  EXPECT_EQ(rows[2].mtbf.incidents, 9);
}

TEST(CausesTest, WithoutHoursTheIncidentsCount) {
  const auto rows = pareto_of({{"b", 3, 0, 100}, {"a", 3, 0, 100}, {"c", 9, 0, 100}});
  EXPECT_EQ(rows[0].key, "c");
  EXPECT_DOUBLE_EQ(rows[0].share, 0.6);
  EXPECT_EQ(rows[1].key, "a");
  EXPECT_THAT(pareto_of({}), IsEmpty());
}

}  // namespace
}  // namespace muster::fleet
