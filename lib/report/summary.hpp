// SPDX-License-Identifier: Apache-2.0
// What several formats say about a report: how many checks ended how, and which finding to name
// where there is room for one.
#pragma once

#include <cstddef>
#include <string>

#include "lib/report/report.hpp"

namespace muster {

// A rule held or was broken, and the check neither skipped nor gave up.
[[nodiscard]] inline bool is_judged(Outcome outcome) {
  return outcome != Outcome::skip && outcome != Outcome::unknown;
}

[[nodiscard]] std::size_t count_checks(const Report& report, Outcome outcome);
[[nodiscard]] std::size_t count_findings(const Report& report, Outcome outcome);

// "1 check", "45 checks".
[[nodiscard]] std::string number_of_checks(const Report& report);

// "1 fail, 40 pass, 2 skip", worst first; outcomes that did not occur are left out.
[[nodiscard]] std::string count_by_outcome(const Report& report);

// The finding that explains the verdict best: the first of the worst outcome. None when nothing
// but passes and skips was found.
[[nodiscard]] const Finding* leading_finding(const Report& report);

// Why a verdict is unknown where neither a finding nor coverage() says it: "no check was selected",
// "nothing here could be judged, 11 skipped". Else empty.
[[nodiscard]] std::string why_undecided(const Report& report);

// How much the verdict rests on: "61 of 72 checks; not observed: GPUs". Without its first part
// where `why_undecided` says the same; empty where a report of an older version does not tell.
[[nodiscard]] std::string coverage(const Report& report);

// "ib.rate mlx5_ib0: 200 Gb/s, expected 400 Gb/s; reseat or replace the part"; without the device
// where the finding is about the whole node. Not made safe for any format.
[[nodiscard]] std::string sentence(const Finding& finding);

// The verdict in one line without a newline: at most one finding, the number of others, and the
// coverage.
[[nodiscard]] std::string one_line(const Report& report, std::size_t max_length);

}  // namespace muster
