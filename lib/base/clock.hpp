// SPDX-License-Identifier: Apache-2.0
// The clock that deadlines are measured by, and the wall clock.
#pragma once

#include <chrono>
#include <stop_token>
#include <string>

#include "lib/base/quantity.hpp"

namespace muster {

using Clock = std::chrono::steady_clock;

// A span of time as the clock counts it; at most about 30 years, which it can still add.
[[nodiscard]] Clock::duration to_duration(Seconds seconds);

// Lets a thread sleep so long. Returns false at once when it is to stop.
[[nodiscard]] bool sleep_for(const std::stop_token& stop, Clock::duration time);

// Wall time now, in whole seconds.
[[nodiscard]] std::chrono::sys_seconds wall_time();

// The time now in RFC 3339: "2026-11-20T12:00:00Z". Nothing is judged by it.
[[nodiscard]] std::string utc_now();

}  // namespace muster
