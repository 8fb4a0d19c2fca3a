// SPDX-License-Identifier: Apache-2.0
#include "lib/base/clock.hpp"

#include <gtest/gtest.h>

#include <thread>

namespace muster {
namespace {

using namespace std::chrono_literals;  // NOLINT(google-build-using-namespace): literals only

// On a busy machine time passes between choosing a limit and using it.
TEST(TimeLimitTest, ReportsTheTimeThatWasGiven) {
  const TimeLimit limit(300ms);
  std::this_thread::sleep_for(10ms);
  EXPECT_EQ(limit.allowed(), "0.3 s");
  EXPECT_EQ(limit.deadline() - limit.started(), 300ms);
  EXPECT_GE(Clock::now() - limit.started(), 10ms);
}

TEST(TimeLimitTest, EndsAtTheEarlierDeadline) {
  const TimeLimit limit(300ms);
  EXPECT_EQ(limit.until(limit.started() + 20ms).allowed(), "0.02 s");
  EXPECT_EQ(limit.until(limit.deadline() + 1s).deadline(), limit.deadline());
  EXPECT_EQ(limit.until(Clock::time_point::max()).deadline(), limit.deadline());
  EXPECT_EQ(TimeLimit(Clock::now() - 5s).allowed(), "0 s");
}

}  // namespace
}  // namespace muster
