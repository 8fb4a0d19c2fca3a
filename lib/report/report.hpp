// SPDX-License-Identifier: Apache-2.0
// All findings of one run on one node, and the verdict. Every output format (format.hpp) renders
// one of these.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/result.hpp"
#include "lib/report/figures.hpp"
#include "lib/report/finding.hpp"
#include "lib/report/measurement.hpp"

namespace muster {

inline constexpr std::string_view kReportSchema = "muster.report/1";

enum class Verdict { healthy, unhealthy, unknown };

[[nodiscard]] std::string_view to_string(Verdict verdict);

// The exit statuses of docs/report.md.
inline constexpr int kExitHealthy = 0;
inline constexpr int kExitUnhealthy = 1;
inline constexpr int kExitUndecided = 2;
inline constexpr int kExitUsage = 64;
inline constexpr int kExitConfiguration = 78;

[[nodiscard]] int exit_status(Verdict verdict);

struct CheckResult {
  std::string id;
  Outcome outcome = Outcome::unknown;  // the worst of its findings

  bool operator==(const CheckResult&) const = default;
};

struct ProbeResult {
  std::string name;
  std::string status;  // ok, absent, timeout, error
  std::string reason;
  double duration_ms = 0;

  bool operator==(const ProbeResult&) const = default;
};

// Findings with one cause, which people read as one.
struct FindingGroup {
  std::vector<SeenBy> members;  // by check and device, the first of them first
  std::string subject;          // "8 of 8 GPUs", "27 checks"
  std::string message;          // in place of those of its members

  bool operator==(const FindingGroup&) const = default;
};

// Facts that checks of the run needed and nobody could observe.
struct NotObserved {
  std::string what;       // "GPUs", "InfiniBand", "kernel log"
  std::string reason;     // why, in words
  bool required = false;  // by the profile, or by the hardware on the bus: the verdict is unknown

  bool operator==(const NotObserved&) const = default;
};

// How much a verdict rests on.
struct Coverage {
  std::int64_t judged = 0;    // checks that passed, warned or failed
  std::int64_t selected = 0;  // all checks of the run
  std::vector<NotObserved> not_observed;

  bool operator==(const Coverage&) const = default;
};

struct Report {
  std::string node;
  std::string profile;
  std::vector<std::string> profile_evidence;  // how the profile was chosen, one fact per entry
  std::string context;
  std::string started;  // RFC 3339, UTC
  double duration_ms = 0;
  std::string physical_host;           // where the provider tells; else empty
  Verdict verdict = Verdict::unknown;  // of a job the job's, and no node's
  std::vector<std::string> nodes;      // of a job, in the order of their first ranks; else empty
  std::vector<std::string> accused;    // those of `nodes` that findings which fail are about
  Coverage coverage;
  std::vector<CheckResult> checks;  // every selected check, in the catalogue's order
  std::vector<Finding> findings;    // all of them, worst first; renderers leave out plain passes
  std::vector<ProbeResult> probes;
  std::string muster;    // the version that judged
  std::string snapshot;  // the file that a recorded node was read from; empty for this node
  std::vector<Measurement> measurements;  // of a benchmark; a check makes none
  std::vector<std::string> ways;  // that the data of a benchmark took, with their pairs of ranks
  std::vector<std::string> warnings;  // of the library that a benchmark ran
  std::vector<FindingGroup> groups;   // of `findings`; never written out
  std::vector<Breakdown> breakdowns;  // never written out but as a picture
  std::vector<Matrix> matrices;       // likewise
  // The checks whose `unknown` counts in this context. Never written out.
  std::vector<std::string> undecided;

  bool operator==(const Report&) const = default;
};

// The reverse of to_json. Unknown keys are ignored; an error names the place ("/findings/3/check:
// expected a string"). Plain passes are there only where the report was rendered verbosely.
[[nodiscard]] Result<Report> parse_report(std::string_view json);

}  // namespace muster
