// SPDX-License-Identifier: Apache-2.0
// The part of the kernel log that counts, and the finding if some of it is missing.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "checks/shared/support.hpp"
#include "lib/base/fields.hpp"
#include "lib/base/quantity.hpp"

namespace muster::checks {

// In microseconds since boot.
struct LogWindow {
  double from_us = 0;
  double now_us = 0;
  std::string words;
};

[[nodiscard]] inline LogWindow window_of(double uptime_s, Seconds wanted) {
  if (wanted.value <= 0 || wanted.value >= uptime_s) {
    return {.from_us = 0, .now_us = uptime_s * 1e6, .words = "since boot"};
  }
  return {.from_us = (uptime_s - wanted.value) * 1e6,
          .now_us = uptime_s * 1e6,
          .words = fmt::format("in the last {}", in_time(wanted.value))};
}

// The window, or less if the kernel dropped its first lines.
[[nodiscard]] inline std::string what_was_read(const KernelLog& log, const LogWindow& window) {
  const auto first_us = static_cast<double>(log.first_us);
  if (log.first_sequence == 0 || first_us <= window.from_us) return window.words;
  return fmt::format("since the oldest line in the kernel's buffer, {} ago",
                     in_time(std::max(0.0, window.now_us - first_us) / 1e6));
}

// Missing lines make the check unknown, unless other lines prove a fault.
inline void judge_gaps(const KernelLog& log, std::string_view what, Findings& findings) {
  if (std::ranges::count(findings, Outcome::fail, &Finding::outcome) > 0) return;
  std::string gap;
  if (log.truncated) {
    gap = fmt::format("reading stopped at the size or time limit after {}",
                      counted(log.seen, "line"));
  } else if (log.lost > 0) {
    gap = fmt::format("{} {} overwritten before muster could read them", counted(log.lost, "line"),
                      log.lost == 1 ? "was" : "were");
  } else if (log.unparsable > 0) {
    gap = fmt::format("{} of {} have an unknown format", counted(log.unparsable, "line"), log.seen);
  }
  if (!gap.empty()) findings.push_back(not_known(kNode, what, Fact<int>::unreadable(gap)));
}

// The profile's outcome for a class of lines. A class without one warns.
[[nodiscard]] inline Outcome outcome_of(const ByName<Outcome>& kinds, const std::string& kind) {
  const auto found = kinds.find(kind);
  return found == kinds.end() ? Outcome::warn : found->second;
}

// Below a hypervisor, only the provider can replace parts.
[[nodiscard]] inline Remedy remedy_here(const Snapshot& snapshot, Remedy remedy) {
  return remedy == Remedy::reseat_or_replace ? hardware_remedy(snapshot) : remedy;
}

}  // namespace muster::checks
