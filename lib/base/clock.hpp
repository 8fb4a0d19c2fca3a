// SPDX-License-Identifier: Apache-2.0
// The steady clock, for deadlines, and the wall clock.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

#include "lib/base/quantity.hpp"

namespace muster {

using Clock = std::chrono::steady_clock;

// Converts seconds to a duration, limited to about 30 years so that it can be added to a time
// point.
[[nodiscard]] Clock::duration to_duration(Seconds seconds);

// A deadline, and the time from the construction of this object until then.
class TimeLimit {
 public:
  // NOLINTBEGIN(google-explicit-constructor): limits are written as plain times.
  template <class Rep, class Period>
  TimeLimit(std::chrono::duration<Rep, Period> allowed) : deadline_(started_ + allowed) {}
  TimeLimit(Clock::time_point deadline) : deadline_(deadline) {}

  // NOLINTEND(google-explicit-constructor)

  // The same limit, but no later than `latest`.
  [[nodiscard]] TimeLimit until(Clock::time_point latest) const {
    auto limit = *this;
    limit.deadline_ = std::min(deadline_, latest);
    return limit;
  }

  [[nodiscard]] Clock::time_point started() const { return started_; }
  [[nodiscard]] Clock::time_point deadline() const { return deadline_; }

  // "0.3 s": the time that was given, not the time that is left.
  [[nodiscard]] std::string allowed() const;

 private:
  Clock::time_point started_ = Clock::now();
  Clock::time_point deadline_;
};

// Sleeps for `time`. Returns false at once if a stop is requested.
[[nodiscard]] bool sleep_for(const std::stop_token& stop, Clock::duration time);

// The time since then in milliseconds, in whole microseconds.
[[nodiscard]] double elapsed_ms(Clock::time_point since);

// The wall time in whole seconds.
[[nodiscard]] std::chrono::sys_seconds wall_time();

// A time in RFC 3339: "2026-11-20T12:00:00Z".
[[nodiscard]] std::string utc(std::chrono::sys_seconds time);
[[nodiscard]] std::string utc(std::int64_t unix_time);

// Parses a time in this form, from 1970 to 9999; empty if it is another.
[[nodiscard]] std::optional<std::chrono::sys_seconds> parse_utc(std::string_view text);

// The wall time in this form. A label only.
[[nodiscard]] std::string utc_now();

}  // namespace muster
