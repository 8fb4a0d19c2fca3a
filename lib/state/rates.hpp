// SPDX-License-Identifier: Apache-2.0
// Rates of remembered counters.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "lib/base/units.hpp"
#include "lib/node/earlier.hpp"

namespace muster {

struct Delta {
  std::uint64_t increments = 0;
  double seconds = 0;  // in which they occurred: at most the window, at least an hour

  // The increments in a window; of a longer time, its share.
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

// The increments of `key` in the last `window_s`, and since uptime `from_s`. Empty at the first
// observation and after the counter was cleared. Increments in less than an hour count as an
// hour's, since rates are not extrapolated.
[[nodiscard]] std::optional<Delta> delta_of(const Earlier& earlier, std::string_view key,
                                            CounterChange now, double window_s, double from_s = 0);

}  // namespace muster
