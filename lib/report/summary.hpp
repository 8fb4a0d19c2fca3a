// SPDX-License-Identifier: Apache-2.0
// The verdict on the findings of a run, and summaries of a report that several formats share.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "lib/report/report.hpp"

namespace muster {

// Sorts the findings, worst first, and fills in the outcomes of the checks, their coverage and the
// verdict. `checks` are the ids of those that ran, in order; a check without findings is a skip.
// `count_unknown` are globs of checks whose `unknown` counts.
//
// Any fail makes the node unhealthy. It is healthy if at least one check passed or warned, no
// unknown counts, and no required facts are missing in `report.coverage.not_observed`, which the
// caller fills in.
void conclude(Report& report, const std::vector<std::string>& checks,
              const std::vector<std::string>& count_unknown = {"*"});

// Whether the check passed, warned or failed.
[[nodiscard]] inline bool is_judged(Outcome outcome) {
  return outcome != Outcome::skip && outcome != Outcome::unknown;
}

[[nodiscard]] std::size_t count_checks(const Report& report, Outcome outcome);
[[nodiscard]] std::size_t count_findings(const Report& report, Outcome outcome);

// Whether the report is about a job of several nodes, and not about a node.
[[nodiscard]] inline bool is_of_job(const Report& report) { return report.nodes.size() > 1; }

// The name of the node, or those of a job's nodes: "gpu-0007", "gpu-[0001-0016]", "(no name)".
[[nodiscard]] std::string name_of(const Report& report);

// Why a trial was not judged.
[[nodiscard]] std::string why_not_judged(const Report& report);

// Why the exit status is 2, as the last line of a run; empty if it is not: "could not decide
// (status 2): bench.job_all_reduce job: not judged: …".
[[nodiscard]] std::string why_undecided_at_exit(const Report& report);

// The first finding with the worst outcome; null if there are only passes and skips.
[[nodiscard]] const Finding* leading_finding(const Report& report);

// Why a verdict is unknown without a finding: "no check was selected", "nothing here could be
// judged, 11 skipped". Else empty.
[[nodiscard]] std::string why_undecided(const Report& report);

// "61 of 72 checks; not observed: GPUs", without the first part if why_undecided() explains it.
[[nodiscard]] std::string coverage(const Report& report);

// "ib.rate mlx5_ib0: 200 Gb/s, expected 400 Gb/s; reseat or replace the part", without the device
// if it is the whole node. Not escaped for any format.
[[nodiscard]] std::string sentence(const Finding& finding);

// The verdict in one line, without its end: the leading finding, the number of others, the
// coverage. `leading` comes first instead of leading_finding().
[[nodiscard]] std::string one_line(const Report& report, std::size_t max_length,
                                   const Finding* leading = nullptr);

// Makes one line of ASCII without special characters: a semicolon becomes a comma, a multi-byte
// character a hyphen, other special characters a blank. Several blanks become one.
[[nodiscard]] std::string harmless(std::string_view text, std::size_t max_length);

}  // namespace muster
