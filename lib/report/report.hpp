// SPDX-License-Identifier: Apache-2.0
// All findings of a run on a node or job, and the verdict.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/fields.hpp"
#include "lib/base/outcome.hpp"
#include "lib/base/result.hpp"
#include "lib/report/figures.hpp"
#include "lib/report/finding.hpp"
#include "lib/report/measurement.hpp"

namespace muster {

inline constexpr std::string_view kReportSchema = "muster.report/1";

enum class Verdict { healthy, unhealthy, unknown };

inline constexpr std::array<std::string_view, 3> kVerdictWords{"healthy", "unhealthy", "unknown"};

constexpr const auto& json_words(Verdict /*type*/) { return kVerdictWords; }

// The exit statuses of docs/report.md.
inline constexpr int kExitHealthy = 0;
inline constexpr int kExitUnhealthy = 1;
inline constexpr int kExitUndecided = 2;
inline constexpr int kExitUsage = 64;
inline constexpr int kExitConfiguration = 78;

[[nodiscard]] int exit_status(Verdict verdict);

struct CheckResult {
  MUSTER_DESCRIBED(CheckResult);
  MUSTER_REQUIRED(std::string, id, "");
  MUSTER_REQUIRED(Outcome, outcome, "the worst of its findings") = Outcome::unknown;
};

struct ProbeResult {
  MUSTER_DESCRIBED(ProbeResult);
  MUSTER_REQUIRED(std::string, name, "");
  MUSTER_REQUIRED(std::string, status, "ok, absent, timeout or error");
  MUSTER_REQUIRED(double, duration_ms, "") = 0;
  MUSTER_UNLESS_EMPTY(std::string, reason, "");
};

// Findings with one cause, shown to people as one.
struct FindingGroup {
  std::vector<SeenBy> members;  // the leading finding first
  std::string subject;          // "8 of 8 GPUs", "27 checks"
  std::string message;          // replaces the messages of the members

  bool operator==(const FindingGroup&) const = default;
};

// Facts that checks of the run needed and that could not be observed.
struct NotObserved {
  MUSTER_DESCRIBED(NotObserved);
  MUSTER_REQUIRED(std::string, what, "\"GPUs\", \"InfiniBand\", \"kernel log\"");
  MUSTER_REQUIRED(std::string, reason, "");
  MUSTER_REQUIRED(bool, required,
                  "by the profile or by the hardware on the bus: the verdict is unknown") = false;
};

// How much a verdict rests on.
struct Coverage {
  MUSTER_DESCRIBED(Coverage);
  MUSTER_REQUIRED(std::int64_t, judged, "checks that passed, warned or failed") = 0;
  MUSTER_REQUIRED(std::int64_t, selected, "all checks of the run") = 0;
  MUSTER_REQUIRED(std::vector<NotObserved>, not_observed, "");
};

struct Report {
  static constexpr std::string_view kSchema = kReportSchema;
  MUSTER_DESCRIBED(Report);
  MUSTER_REQUIRED(std::string, node, "");
  MUSTER_REQUIRED(std::string, profile, "");
  MUSTER_FIELD(std::vector<std::string>, profile_evidence, "why the profile was chosen");
  MUSTER_REQUIRED(std::string, context, "");
  MUSTER_REQUIRED(std::string, started, "RFC 3339, UTC");
  MUSTER_REQUIRED(double, duration_ms, "") = 0;
  MUSTER_REQUIRED(Verdict, verdict, "of the node or the job") = Verdict::unknown;
  MUSTER_FIELD(Coverage, coverage, "");
  MUSTER_FIELD(std::string, physical_host, "empty if the provider does not report it");
  MUSTER_UNLESS_EMPTY(std::vector<std::string>, nodes, "of a job, by their first ranks");
  MUSTER_UNLESS_EMPTY(std::vector<std::string>, accused, "nodes of a job with failures");
  MUSTER_FIELD(std::string, muster, "version");
  MUSTER_FIELD(std::string, snapshot, "the file of the snapshot; empty for this node");
  MUSTER_REQUIRED(std::vector<CheckResult>, checks, "that were selected, in catalogue order");
  MUSTER_REQUIRED(std::vector<Finding>, findings, "worst first; plain passes only with -v");
  MUSTER_REQUIRED(std::vector<ProbeResult>, probes, "");
  MUSTER_UNLESS_EMPTY(std::vector<Measurement>, measurements, "of a benchmark");
  MUSTER_UNLESS_EMPTY(std::vector<std::string>, ways,
                      "transports of a benchmark's data, with their pairs of ranks");
  MUSTER_UNLESS_EMPTY(std::vector<std::string>, warnings, "of a benchmark's library");
  // Not in JSON.
  std::vector<FindingGroup> groups;
  std::vector<Breakdown> breakdowns;
  std::vector<Matrix> matrices;
  std::vector<std::string> undecided;  // checks whose `unknown` counts in this context
};

// The reverse of to_json(). Unknown keys are ignored; errors name the place ("/findings/3/check:
// expected a string").
[[nodiscard]] Result<Report> parse_report(std::string_view json);

}  // namespace muster
