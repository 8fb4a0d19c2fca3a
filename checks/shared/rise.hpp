// SPDX-License-Identifier: Apache-2.0
// The rise of a counter since earlier runs, and counters that can no longer rise.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>

#include "lib/base/units.hpp"
#include "lib/node/snapshot.hpp"
#include "lib/state/counters.hpp"

namespace muster::checks {

// The rise in the last `over_s` and after uptime `from_s`; empty if delta_of() is. If the last run
// is longer ago, the rise is over that longer time, because the time of each increment is unknown.
// The uptime must be known.
[[nodiscard]] inline std::optional<Delta> rise_of(const Snapshot& snapshot, std::string_view key,
                                                  std::uint64_t value, double over_s = kHour,
                                                  double from_s = 0) {
  const double now_s = *snapshot.identity->uptime_s;
  const double since_last_s = now_s - snapshot.earlier.last_uptime_s;
  return delta_of(snapshot.earlier, key, {.uptime_s = now_s, .value = value},
                  std::max(over_s, since_last_s), from_s);
}

// True for a counter at its 32-bit or 64-bit maximum, where it stays until it is cleared. It
// counted many errors, but whether it still rises is unknown, so it warns.
[[nodiscard]] inline bool is_saturated(std::uint64_t value) {
  return value == std::numeric_limits<std::uint32_t>::max() ||
         value == std::numeric_limits<std::uint64_t>::max();
}

}  // namespace muster::checks
