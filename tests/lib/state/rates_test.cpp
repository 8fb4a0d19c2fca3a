// SPDX-License-Identifier: Apache-2.0
#include "lib/state/rates.hpp"

#include <gtest/gtest.h>

#include "lib/base/units.hpp"

namespace muster {
namespace {

Earlier seen(std::vector<CounterChange> changes) {
  return {.counters = {{"k", std::move(changes)}}};
}

TEST(DeltaTest, IsEmptyAtTheFirstObservation) {
  EXPECT_FALSE(delta_of({}, "k", {.uptime_s = 10, .value = 5}, kHour));
}

TEST(DeltaTest, CountsSinceTheOldestKnownValueInTheWindow) {
  const auto delta =
      delta_of(seen({{0, 5}}), "k", {.uptime_s = 2 * kHour, .value = 25}, 24 * kHour);
  ASSERT_TRUE(delta);
  EXPECT_EQ(delta->increments, 20U);
  EXPECT_EQ(delta->per_hour(), 10);
}

TEST(DeltaTest, IgnoresChangesBeforeTheWindow) {
  const auto delta = delta_of(seen({{0, 0}, {kHour, 100}}), "k",
                              {.uptime_s = 10 * kHour, .value = 103}, 3 * kHour);
  ASSERT_TRUE(delta);
  EXPECT_EQ(delta->increments, 3U);
  EXPECT_EQ(delta->seconds, 3 * kHour);
}

TEST(DeltaTest, IgnoresChangesBeforeTheUptime) {
  const auto delta = delta_of(seen({{60, 1}, {900, 4}}), "k", {.uptime_s = 2 * kHour, .value = 4},
                              24 * kHour, 1800);
  ASSERT_TRUE(delta);
  EXPECT_EQ(delta->increments, 0U);
}

TEST(DeltaTest, IsEmptyAfterTheCounterWasCleared) {
  EXPECT_FALSE(delta_of(seen({{0, 100}}), "k", {.uptime_s = kHour, .value = 3}, kHour));
  const auto delta =
      delta_of(seen({{0, 100}, {kHour, 2}}), "k", {.uptime_s = 2 * kHour, .value = 5}, 24 * kHour);
  ASSERT_TRUE(delta);
  EXPECT_EQ(delta->increments, 3U);
}

TEST(DeltaTest, NeverExtrapolatesARate) {
  const auto delta = delta_of(seen({{100, 0}}), "k", {.uptime_s = 110, .value = 1}, kHour);
  ASSERT_TRUE(delta);
  EXPECT_EQ(delta->per_hour(), 1);
}

}  // namespace
}  // namespace muster
