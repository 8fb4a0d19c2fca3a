// SPDX-License-Identifier: Apache-2.0
// Judges one line of NHC directly, without muster's own checks.
#pragma once

#include <fmt/ranges.h>

#include <string>
#include <string_view>

#include "checks/nhc_conf/table.hpp"

namespace muster::nhc {

// The findings of "* || COMMAND".
inline Findings judge_line(const Snapshot& snapshot, std::string_view command,
                           const Profile& profile = {}) {
  const auto line =
      all_check_lines(parse_config("nhc.conf", fmt::format("* || {}\n", command))).front();
  return row_of(line)->judge({snapshot, profile, line});
}

// "fail eth1": outcome and device of each finding, in order.
inline std::vector<std::string> outcomes(const Findings& findings) {
  std::vector<std::string> words;
  for (const auto& finding : findings) {
    words.push_back(fmt::format("{} {}", to_string(finding.outcome), finding.device));
  }
  return words;
}

inline std::string outcome_of(const Snapshot& snapshot, std::string_view command) {
  return fmt::format("{}", fmt::join(outcomes(judge_line(snapshot, command)), ", "));
}

}  // namespace muster::nhc
