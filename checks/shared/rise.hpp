// SPDX-License-Identifier: Apache-2.0
// How much a remembered counter rose, for checks that judge how fast.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>

#include "lib/base/units.hpp"
#include "lib/node/snapshot.hpp"
#include "lib/state/counters.hpp"

namespace muster::checks {

// What a counter gained in the last `over_s`, not counting what came before uptime `from_s`; empty
// where delta_of() is. Nobody knows when between two runs it rose: where the last run is longer ago
// than that, the rise is that longer time's. The uptime must be known.
[[nodiscard]] inline std::optional<Delta> rise_of(const Snapshot& snapshot, std::string_view key,
                                                  std::uint64_t value, double over_s = kHour,
                                                  double from_s = 0) {
  const double now_s = *snapshot.identity->uptime_s;
  const double since_last_s = now_s - snapshot.earlier.last_uptime_s;
  return delta_of(snapshot.earlier, key, {.uptime_s = now_s, .value = value},
                  std::max(over_s, since_last_s), from_s);
}

}  // namespace muster::checks
