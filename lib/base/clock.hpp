// SPDX-License-Identifier: Apache-2.0
// The clock that deadlines are measured by, and the wall clock.
#pragma once

#include <chrono>
#include <stop_token>
#include <string>

#include "lib/base/quantity.hpp"

namespace muster {

using Clock = std::chrono::steady_clock;

// The seconds as a duration of the clock: at most about 30 years, which can still be added to a
// point in time.
[[nodiscard]] Clock::duration to_duration(Seconds seconds);

// Sleeps for `time`. Returns false, and at once, when a stop is requested.
[[nodiscard]] bool sleep_for(const std::stop_token& stop, Clock::duration time);

// Wall time now, in whole seconds.
[[nodiscard]] std::chrono::sys_seconds wall_time();

// The time now in RFC 3339: "2026-11-20T12:00:00Z". Nothing is judged by it.
[[nodiscard]] std::string utc_now();

}  // namespace muster
