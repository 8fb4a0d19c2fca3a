// SPDX-License-Identifier: Apache-2.0
// The clock that deadlines are measured by, and the wall clock.
#pragma once

#include <algorithm>
#include <chrono>
#include <stop_token>
#include <string>

#include "lib/base/quantity.hpp"

namespace muster {

using Clock = std::chrono::steady_clock;

// The seconds as a duration of the clock: at most about 30 years, which can still be added to a
// point in time.
[[nodiscard]] Clock::duration to_duration(Seconds seconds);

// How long something may take, counted from where this is made: so long, or until a point in time.
class TimeLimit {
 public:
  // NOLINTBEGIN(google-explicit-constructor): limits are written as plain times.
  template <class Rep, class Period>
  TimeLimit(std::chrono::duration<Rep, Period> allowed) : deadline_(started_ + allowed) {}

  TimeLimit(Clock::time_point deadline) : deadline_(deadline) {}

  // NOLINTEND(google-explicit-constructor)

  // The same, and at the latest until `latest`.
  [[nodiscard]] TimeLimit until(Clock::time_point latest) const {
    auto limit = *this;
    limit.deadline_ = std::min(deadline_, latest);
    return limit;
  }

  [[nodiscard]] Clock::time_point started() const { return started_; }

  [[nodiscard]] Clock::time_point deadline() const { return deadline_; }

  // "0.3 s"; what was given as 300 ms is that, however late it was looked at.
  [[nodiscard]] std::string allowed() const;

 private:
  Clock::time_point started_ = Clock::now();
  Clock::time_point deadline_;
};

// Sleeps for `time`. Returns false, and at once, when a stop is requested.
[[nodiscard]] bool sleep_for(const std::stop_token& stop, Clock::duration time);

// Wall time now, in whole seconds.
[[nodiscard]] std::chrono::sys_seconds wall_time();

// The time now in RFC 3339: "2026-11-20T12:00:00Z". Nothing is judged by it.
[[nodiscard]] std::string utc_now();

}  // namespace muster
