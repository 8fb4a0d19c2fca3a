// SPDX-License-Identifier: Apache-2.0
// The counters that are remembered between runs, and their rates.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "lib/base/units.hpp"
#include "lib/node/snapshot.hpp"

namespace muster {

// The reasons of NVML for which the hardware lowers clocks: slowdown, heat, power brake. The
// counter "gpu.ADDRESS.slowdown" is 1 for a GPU with one of them, else 0.
inline constexpr std::uint64_t kHardwareSlowdown = 0xc8;

// The error counters of a snapshot by key: "ib.mlx5_ib0.1.link_downed",
// "pci.0001:00:00.0.correctable", "edac.mc0.corrected".
[[nodiscard]] std::map<std::string, std::uint64_t> counters_of(const Snapshot& snapshot);

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
