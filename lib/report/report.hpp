// SPDX-License-Identifier: Apache-2.0
// The report of a run on a node or job: findings, measurements, pictures and the verdict; and why a
// command failed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/fields.hpp"
#include "lib/base/outcome.hpp"
#include "lib/base/result.hpp"
#include "lib/node/parts.hpp"
#include "lib/report/finding.hpp"

namespace muster {

// Two numbers taken under different conditions cannot be compared.
struct MeasurementConditions {
  MUSTER_DESCRIBED(MeasurementConditions);
  MUSTER_REQUIRED(std::string, collective, "all_reduce");
  MUSTER_REQUIRED(std::string, type, "f32");
  MUSTER_REQUIRED(std::string, reduction, "sum; empty if nothing is reduced");
  MUSTER_REQUIRED(std::string, placement, "in_place or out_of_place");
  MUSTER_REQUIRED(std::int64_t, size_bytes, "") = 0;
  MUSTER_REQUIRED(std::int64_t, ranks, "") = 0;
  MUSTER_REQUIRED(std::int64_t, nodes, "") = 0;
  MUSTER_REQUIRED(std::string, backend, "nccl");
  MUSTER_REQUIRED(std::string, library, "NCCL 2.28.3");
  MUSTER_REQUIRED(std::string, algorithm, "ring; empty if unknown");
  MUSTER_REQUIRED(std::int64_t, iterations, "") = 0;
  MUSTER_UNLESS_EMPTY(std::string, test, "of a node: host.stream; empty for ranks of a job") = {};
  MUSTER_UNLESS_EMPTY(std::string, device, "gpu3, numa1, gpu0-gpu5") = {};
};

// Statistics of the time of one operation, which is the maximum over ranks, in microseconds.
struct MeasurementStatistics {
  MUSTER_DESCRIBED(MeasurementStatistics);
  MUSTER_REQUIRED(double, median_us, "") = 0;
  MUSTER_FIELD(std::optional<double>, median_low_us, "lower bound of 95% confidence");
  MUSTER_FIELD(std::optional<double>, median_high_us, "upper bound");
  MUSTER_REQUIRED(double, p5_us, "") = 0;
  MUSTER_REQUIRED(double, p95_us, "") = 0;
  MUSTER_REQUIRED(double, min_us, "") = 0;
  MUSTER_REQUIRED(double, mean_us, "") = 0;
};

// Statistics of a number that was measured several times in one run, in its own unit.
struct MeasurementRepeats {
  MUSTER_DESCRIBED(MeasurementRepeats);
  MUSTER_REQUIRED(std::int64_t, count, "") = 0;
  MUSTER_REQUIRED(double, min, "") = 0;
  MUSTER_REQUIRED(double, median, "") = 0;
  MUSTER_REQUIRED(double, max, "") = 0;
  MUSTER_REQUIRED(double, deviation, "1.4826 times the median absolute deviation") = 0;
  MUSTER_FIELD(std::optional<double>, median_low,
               "lower end of the 95% confidence interval; null for too few repeats");
  MUSTER_FIELD(std::optional<double>, median_high,
               "upper end of the 95% confidence interval; null for too few repeats");
};

struct Measurement {
  static constexpr std::string_view kSchema = "muster.measurement/1";
  MUSTER_DESCRIBED(Measurement);
  MUSTER_REQUIRED(std::string, quantity, "busbw");
  MUSTER_REQUIRED(double, value, "of the median") = 0;
  MUSTER_REQUIRED(std::string, unit, "GB/s");
  MUSTER_REQUIRED(MeasurementConditions, conditions, "");
  MUSTER_UNLESS_EMPTY(std::optional<MeasurementStatistics>, statistics,
                      "of the times of operations, if it has any") = {};
  MUSTER_UNLESS_EMPTY(std::optional<MeasurementRepeats>, repeats,
                      "if it was measured several times") = {};
  MUSTER_FIELD(std::optional<std::int64_t>, wrong_elements, "null if they were not checked");
  MUSTER_UNLESS_EMPTY(std::vector<double>, iterations_us, "each; written only on request");
};

// Larger matrices are not drawn, since their cells would be too small, and need no cells.
inline constexpr std::size_t kMaxDrawnNames = 128;

// A number for each pair of `names`: bandwidth between nodes or GPUs, latency between CPUs.
struct Matrix {
  MUSTER_DESCRIBED(Matrix);
  MUSTER_FIELD(std::string, title, "");
  MUSTER_FIELD(std::string, unit, "");
  MUSTER_FIELD(std::vector<std::string>, names, "of rows and columns");
  MUSTER_FIELD(std::vector<std::vector<std::optional<double>>>, cells,
               "by row; null if not measured, 0 if it did not finish");
  MUSTER_FIELD(double, usual, "of a healthy pair") = 0;
  MUSTER_FIELD(bool, more_is_better, "") = true;
  MUSTER_FIELD(std::string, check, "whose findings it shows") = {};
};

// The highest possible bandwidth, and how much each cause takes away from it.
struct Breakdown {
  struct Share {
    std::string what;
    double value = 0;
    bool reached = false;  // the rest, which is not a loss

    bool operator==(const Share&) const = default;
  };

  std::string title;
  std::string unit;
  std::vector<Share> parts;  // the reached one first; they add up to the maximum
  std::string check = {};    // whose findings it shows

  bool operator==(const Breakdown&) const = default;
};

enum class Verdict { healthy, unhealthy, unknown };
MUSTER_WORDS(Verdict, "healthy", "unhealthy", "unknown");

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

// A sample for metrics that is not in a finding.
struct Reading {
  MUSTER_DESCRIBED(Reading);
  MUSTER_REQUIRED(std::string, metric, "its name, without muster_");
  MUSTER_REQUIRED(ByName<std::string>, labels, "check, device, kind …");
  MUSTER_REQUIRED(double, value, "in the unit of the name") = 0;
};

// How much a verdict rests on.
struct Coverage {
  MUSTER_DESCRIBED(Coverage);
  MUSTER_REQUIRED(std::int64_t, judged, "checks that passed, warned or failed") = 0;
  MUSTER_REQUIRED(std::int64_t, selected, "all checks of the run") = 0;
  MUSTER_REQUIRED(std::vector<NotObserved>, not_observed, "");
};

// The numbers that a check compared, of plain passes too.
struct CheckValues {
  MUSTER_DESCRIBED(CheckValues);
  MUSTER_FIELD(std::string, unit, "");
  MUSTER_FIELD(ByName<double>, by_device, "the worst, if the check compared several");
};

struct Report {
  static constexpr std::string_view kSchema = "muster.report/1";
  MUSTER_DESCRIBED(Report);
  MUSTER_FIELD(std::optional<std::string>, node, "null for a job of several nodes");
  MUSTER_REQUIRED(std::string, profile, "");
  MUSTER_FIELD(std::vector<std::string>, profile_evidence, "why the profile was chosen");
  MUSTER_REQUIRED(std::string, context, "");
  MUSTER_UNLESS_EMPTY(std::string, benchmark, "the command of muster-bench, such as node");
  MUSTER_REQUIRED(std::string, started, "RFC 3339, UTC");
  MUSTER_REQUIRED(double, duration_ms, "") = 0;
  MUSTER_REQUIRED(Verdict, verdict, "of the node or the job") = Verdict::unknown;
  MUSTER_FIELD(bool, judged,
               "false for a job without any limit, on nodes without GPUs and HCAs") = true;
  MUSTER_FIELD(Coverage, coverage, "");
  MUSTER_FIELD(std::string, physical_host, "empty if the provider does not report it");
  MUSTER_UNLESS_EMPTY(std::string, boot_id, "of the kernel");
  MUSTER_UNLESS_EMPTY(std::vector<Part>, parts, "GPUs and HCAs with their serial numbers");
  MUSTER_UNLESS_EMPTY(ByName<std::string>, stack, "versions: kernel, driver");
  MUSTER_UNLESS_EMPTY(std::string, container,
                      "the container that hid parts of the node: how it was recognised");
  MUSTER_FIELD(std::vector<std::string>, nodes, "of a job, by their first ranks");
  MUSTER_FIELD(std::vector<std::string>, accused, "nodes of a job with failures");
  MUSTER_FIELD(std::string, muster, "version");
  MUSTER_FIELD(std::string, snapshot, "the file of the snapshot; empty for this node");
  MUSTER_REQUIRED(std::vector<CheckResult>, checks, "that were selected, in catalogue order");
  MUSTER_REQUIRED(std::vector<Finding>, findings, "worst first; plain passes only with -v");
  MUSTER_REQUIRED(std::vector<ProbeResult>, probes, "");
  MUSTER_UNLESS_EMPTY(ByName<CheckValues>, values, "by check");
  MUSTER_UNLESS_EMPTY(std::vector<Measurement>, measurements, "of a benchmark");
  MUSTER_UNLESS_EMPTY(std::vector<std::string>, ways,
                      "transports of a benchmark's data, with their pairs of ranks");
  MUSTER_UNLESS_EMPTY(std::vector<std::string>, warnings, "of a benchmark's library");
  MUSTER_UNLESS_EMPTY(std::vector<Matrix>, matrices, "of a job: what its pairs of nodes reached");
  MUSTER_UNLESS_EMPTY(std::vector<Reading>, readings, "for metrics; only with -v");
  // Not in JSON.
  std::vector<FindingGroup> groups;
  std::vector<Breakdown> breakdowns;
  std::vector<std::string> undecided;  // checks whose `unknown` counts in this context
};

// The status of the verdict; healthy for a trial, which nothing judges.
[[nodiscard]] int exit_status(const Report& report);

// The reverse of to_json(). Unknown keys are ignored; errors name the place ("/findings/3/check:
// expected a string").
[[nodiscard]] Result<Report> parse_report(std::string_view json);
// Reads a report from a file that a user named; "-" is standard input. Errors name the file.
[[nodiscard]] Result<Report> read_report(const std::string& file);

struct Failure {
  int status = 0;
  std::string message;  // may be empty
};

template <class T>
using Attempt = tl::expected<T, Failure>;

[[nodiscard]] inline tl::unexpected<Failure> bad_configuration(const Error& error) {
  return tl::unexpected<Failure>(Failure{.status = kExitConfiguration, .message = error.message});
}

[[nodiscard]] inline tl::unexpected<Failure> undecided(const Error& error) {
  return tl::unexpected<Failure>(Failure{.status = kExitUndecided, .message = error.message});
}

}  // namespace muster
