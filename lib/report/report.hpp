// SPDX-License-Identifier: Apache-2.0
// All findings of one run on one node, and the verdict. Every output format (format.hpp) renders
// one of these.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lib/base/result.hpp"
#include "lib/report/finding.hpp"
#include "lib/report/measurement.hpp"

namespace muster {

inline constexpr std::string_view kReportSchema = "muster.report/1";

enum class Verdict { healthy, unhealthy, unknown };

[[nodiscard]] std::string_view to_string(Verdict verdict);

// design.md's exit statuses.
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

struct Report {
  std::string node;
  std::string profile;
  std::vector<std::string> profile_evidence;  // how the profile was chosen, one fact per entry
  std::string context;
  std::string started;  // RFC 3339, UTC
  double duration_ms = 0;
  std::string physical_host;  // where the provider tells; else empty
  Verdict verdict = Verdict::unknown;
  std::vector<CheckResult> checks;  // every selected check, in the catalogue's order
  std::vector<Finding> findings;    // all of them, worst first; renderers leave out plain passes
  std::vector<ProbeResult> probes;
  std::string muster;    // the version that judged
  std::string snapshot;  // the file that a recorded node was read from; empty for this node
  std::vector<Measurement> measurements;  // of a benchmark; a check makes none
  std::vector<std::string> ways;  // that the data of a benchmark took, with their pairs of ranks
  std::vector<std::string> warnings;  // of the library that a benchmark ran
  // The checks whose `unknown` counts in this context. Never written out.
  std::vector<std::string> undecided;

  bool operator==(const Report&) const = default;
};

// The reverse of to_json. Unknown keys are ignored; an error names the place ("/findings/3/check:
// expected a string"). Plain passes are there only where the report was rendered verbosely.
[[nodiscard]] Result<Report> parse_report(std::string_view json);

}  // namespace muster
