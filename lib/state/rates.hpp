// SPDX-License-Identifier: Apache-2.0
// How fast a remembered counter rose.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "lib/base/units.hpp"
#include "lib/node/earlier.hpp"

namespace muster {

struct Delta {
  std::uint64_t increments = 0;
  double seconds = 0;  // in which they were seen: at most the window, at least an hour

  // In a window of this length: of a longer time, the window's share.
  [[nodiscard]] double in_window(double window_s) const {
    const auto all = static_cast<double>(increments);
    return seconds <= window_s ? all : all * window_s / seconds;
  }

  [[nodiscard]] double per_hour() const {
    return static_cast<double>(increments) * kHour / seconds;
  }

  [[nodiscard]] double per_minute() const {
    return static_cast<double>(increments) * kMinute / seconds;
  }
};

// What `key` gained in the last `window_s` up to `now`, not counting what came before uptime
// `from_s`. Empty at the first observation, and where the counter was cleared since (a smaller
// value starts afresh). What was seen in less than an hour counts as an hour's: a rate is never
// extrapolated.
[[nodiscard]] std::optional<Delta> delta_of(const Earlier& earlier, std::string_view key,
                                            CounterChange now, double window_s, double from_s = 0);

}  // namespace muster
