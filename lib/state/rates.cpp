// SPDX-License-Identifier: Apache-2.0
#include "lib/state/rates.hpp"

#include <algorithm>

namespace muster {
namespace {

constexpr double kShortestSpan = kHour;

}  // namespace

std::optional<Delta> delta_of(const Earlier& earlier, std::string_view key, CounterChange now,
                              double window_s, double from_s) {
  const auto found = earlier.counters.find(std::string(key));
  if (found == earlier.counters.end() || found->second.empty()) return std::nullopt;
  const auto& changes = found->second;
  if (changes.back().value > now.value) return std::nullopt;

  // The value at the beginning of the window, or the oldest known one.
  const double begin = std::max(now.uptime_s - window_s, from_s);
  const auto* base = &changes.front();
  for (const auto& change : changes) {
    if (change.uptime_s <= begin || change.value < base->value) base = &change;
  }
  // An older value was valid until the window began.
  const double since = std::max(base->uptime_s, begin);
  return Delta{.increments = now.value - base->value,
               .seconds = std::max(now.uptime_s - since, kShortestSpan)};
}

}  // namespace muster
