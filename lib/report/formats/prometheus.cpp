// SPDX-License-Identifier: Apache-2.0
// Metrics for node_exporter's textfile collector. Labels are names of checks, probes, contexts,
// commands, tests and devices, never messages, and the number of series is limited.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "lib/base/clock.hpp"
#include "lib/base/text.hpp"
#include "lib/report/format.hpp"
#include "lib/report/summary.hpp"

namespace muster {
namespace {

// Outcomes as numbers, ascending by severity: an alert can use `> 0`, a dashboard the maximum.
int number_of(Outcome outcome) { return rank(Outcome::pass) - rank(outcome); }

// Verdicts, on the same scale.
int number_of(Verdict verdict) {
  if (verdict == Verdict::healthy) return number_of(Outcome::pass);
  return number_of(verdict == Verdict::unhealthy ? Outcome::fail : Outcome::unknown);
}

// Escapes the two printable characters that are special in a label.
std::string label(std::string_view raw) {
  std::string escaped;
  for (const char c : printable(raw, 200)) {
    if (c == '\\' || c == '"') escaped.push_back('\\');
    escaped.push_back(c);
  }
  return escaped;
}

// The series of `muster check` and of muster-bench have different names: both programs write into
// the same folder, and node_exporter takes no series twice.
class Page {
 public:
  explicit Page(const Report& report)
      : prefix_(report.benchmark.empty() ? "muster" : "muster_bench"),
        source_(report.benchmark.empty() ? fmt::format("context=\"{}\"", label(report.context))
                                         : fmt::format("command=\"{}\"", label(report.benchmark))) {
    // Metrics made from snapshots are about other nodes than the one that exports them.
    if (!report.snapshot.empty()) source_ += fmt::format(",node=\"{}\"", label(name_of(report)));
  }

  // Begins the samples of a metric; `name` follows the prefix.
  void family(std::string_view name, std::string_view help) {
    name_ = fmt::format("{}_{}", prefix_, name);
    text_ += fmt::format("# HELP {0} {1}\n# TYPE {0} {2}\n", name_, help,
                         name.ends_with("_total") ? "counter" : "gauge");
  }

  // Adds a sample. `labels` follow the source between the braces.
  template <class Number>
  void sample(std::string_view labels, Number value) {
    text_ +=
        fmt::format("{}{{{}{}{}}} {}\n", name_, source_, labels.empty() ? "" : ",", labels, value);
  }

  [[nodiscard]] std::string text() && { return std::move(text_); }

 private:
  std::string_view prefix_;
  std::string source_;  // the first label of each sample
  std::string name_;
  std::string text_;
};

void add_checks(Page& page, const Report& report) {
  page.family("check_outcome",
              "Outcome of each check: -1 skip, 0 pass, 1 warn, 2 unknown, 3 fail.");
  for (const auto& check : report.checks) {
    page.sample(fmt::format("check=\"{}\"", label(check.id)), number_of(check.outcome));
  }
  page.family("findings", "Findings of the run by outcome.");
  for (const auto outcome :
       {Outcome::pass, Outcome::warn, Outcome::fail, Outcome::unknown, Outcome::skip}) {
    page.sample(fmt::format("outcome=\"{}\"", to_string(outcome)), count_findings(report, outcome));
  }
}

void add_coverage(Page& page, const Report& report) {
  page.family("checks_selected", "Checks of the run.");
  page.sample("", report.coverage.selected);
  page.family("checks_judged", "Checks of the run that passed, warned or failed.");
  page.sample("", report.coverage.judged);
  page.family("not_observed",
              "Facts that checks needed and that were not observed: 1 if the verdict requires "
              "them, else 0.");
  for (const auto& gap : report.coverage.not_observed) {
    page.sample(fmt::format("what=\"{}\"", label(gap.what)), gap.required ? 1 : 0);
  }
}

void add_probes(Page& page, const Report& report) {
  page.family("probe_duration_seconds", "How long each probe took.");
  for (const auto& probe : report.probes) {
    page.sample(fmt::format("probe=\"{}\"", label(probe.name)), probe.duration_ms / 1000.0);
  }
  page.family("probe_answered", "Whether the probe answered: 0 after a time-out or an error.");
  for (const auto& probe : report.probes) {
    const bool answered = probe.status == "ok" || probe.status == "absent";
    page.sample(fmt::format("probe=\"{}\"", label(probe.name)), answered ? 1 : 0);
  }
}

std::optional<double> number_in(const Value& value) {
  const auto number = muster::number_of(value);
  return number && std::isfinite(*number) ? number : std::nullopt;
}

constexpr std::size_t kMaxSeries = 100;  // of a family whose labels name devices

enum class Keep { most, least };

// The greatest or least value of each combination of labels, in the order of their names. If there
// are too many combinations, those with the greatest or least values are printed.
class Samples {
 public:
  explicit Samples(Keep keep = Keep::most) : sign_(keep == Keep::least ? 1 : -1) {}

  void add(std::string labels, double value) {
    const auto [kept, is_new] = values_.emplace(std::move(labels), sign_ * value);
    kept->second = std::min(kept->second, sign_ * value);
  }

  void add_to(Page& page, std::string_view name, std::string_view help,
              std::size_t most = kMaxSeries) const {
    if (values_.empty()) return;
    page.family(name, help);
    std::vector<std::pair<double, std::string_view>> worst_first;
    for (const auto& [labels, value] : values_) worst_first.emplace_back(value, labels);
    std::ranges::sort(worst_first);
    worst_first.resize(std::min(most, worst_first.size()));
    std::ranges::sort(worst_first, {}, &std::pair<double, std::string_view>::second);
    for (const auto& [value, labels] : worst_first) page.sample(labels, sign_ * value);
  }

 private:
  double sign_;
  std::map<std::string, double> values_;  // times the sign
};

// "check=\"host.disk\",device=\"/\"".
std::string labels_of(const Reading& reading) {
  std::string text;
  for (const auto& [name, value] : reading.labels) {
    text += fmt::format("{}{}=\"{}\"", text.empty() ? "" : ",", name, label(value));
  }
  return text;
}

std::string labels_of(const Finding& finding) {
  return fmt::format(R"(check="{}",device="{}")", label(finding.check), label(finding.device));
}

constexpr std::string_view kHeadroom = "headroom_ratio";

// A check may pass because it found exactly the expected number, which is not a margin. A benchmark
// that passes is on the good side of its limit.
bool has_margin(const Finding& finding) {
  if (finding.outcome == Outcome::pass) return finding.check.starts_with("bench.");
  return finding.outcome == Outcome::warn || finding.outcome == Outcome::fail;
}

// How far a value is from its limit. Checks without readings have it in their findings.
void add_headroom(Page& page, const Report& report) {
  Samples samples(Keep::least);
  for (const auto& reading : report.readings) {
    if (reading.metric == kHeadroom) samples.add(labels_of(reading), reading.value);
  }
  for (const auto& finding : report.findings) {
    const auto observed = number_in(finding.observed);
    const auto limit = number_in(finding.limit);
    if (!has_margin(finding) || !observed || !limit || *limit == 0) continue;
    const double distance = std::abs((*limit - *observed) / *limit);
    samples.add(labels_of(finding), finding.outcome == Outcome::pass ? distance : -distance);
  }
  samples.add_to(page, kHeadroom,
                 "Distance of the observed value from its limit as a share of the limit: 0 at the "
                 "limit, below 0 on the bad side.");
}

struct ReadingMetric {
  std::string_view name;
  std::string_view help;
  std::size_t most;     // series
  bool common = false;  // other exporters have it: only with --values all
};

constexpr auto kReadingMetrics = std::to_array<ReadingMetric>({
    {"node_info", "The node: its profile, GPU driver and physical host.", 1},
    {"device_info", "The identity of each GPU and HCA.", 40},
    {"error_rate_hertz", "Errors per second over the time that the check judges; none for 0.", 32},
    {"link_bit_error_ratio", "Errors per bit of a link; of NVLinks, the worst of each GPU.", 32},
    {"xid_events_total", "XIDs of each GPU in the kernel log of this boot, by number.", 24},
    {"sxid_events_total", "SXIDs of each NVSwitch in the kernel log of this boot.", 16},
    {"gpu_temperature_celsius", "Temperature of each GPU.", 32, true},
    {"gpu_memory_temperature_celsius", "Temperature of the memory of each GPU.", 32, true},
    {"gpu_power_watts", "Power that each GPU draws.", 32, true},
    {"gpu_clock_hertz", "SM clock of each GPU.", 32, true},
    {"hca_active", "Whether the port of an HCA is ACTIVE.", 32, true},
    {"hca_rate_bytes_per_second", "Signalling rate of the port of an HCA.", 32, true},
    {"hca_errors_total", "Error counters of the port of an HCA.", 200, true},
});

void add_readings(Page& page, const Report& report, bool with_common) {
  for (const auto& metric : kReadingMetrics) {
    if (metric.common && !with_common) continue;
    Samples samples;
    for (const auto& reading : report.readings) {
      if (reading.metric == metric.name) samples.add(labels_of(reading), reading.value);
    }
    samples.add_to(page, metric.name, metric.help, metric.most);
  }
}

struct UnitOfMetric {
  std::string_view unit;
  double factor;  // to the unit in the name of the metric
  std::string_view name;
};

constexpr std::string_view kBytes = "bandwidth_bytes_per_second";
constexpr std::string_view kOperations = "operations_per_second";

constexpr auto kUnits = std::to_array<UnitOfMetric>({{"GB/s", 1e9, kBytes},
                                                     {"MB/s", 1e6, kBytes},
                                                     {"Gb/s", 1e9 / 8, kBytes},
                                                     {"TFLOPS", 1e12, kOperations},
                                                     {"TOPS", 1e12, kOperations}});

// The metric of a number, without its prefix; empty for a unit that has none.
std::string metric_of(std::string_view unit, bool on_a_bus) {
  const auto* const found = std::ranges::find(kUnits, unit, &UnitOfMetric::unit);
  if (found == kUnits.end()) return {};
  if (found->name != kBytes) return std::string(found->name);
  return fmt::format("{}_{}", on_a_bus ? "bus" : "copy", found->name);
}

double in_unit_of_metric(double value, std::string_view unit) {
  return value * std::ranges::find(kUnits, unit, &UnitOfMetric::unit)->factor;
}

// The best value of each test and device over all sizes, and the limits.
void add_measurements(Page& page, const Report& report) {
  std::map<std::string, Samples> values;
  std::map<std::string, Samples> limits;
  for (const auto& each : report.measurements) {
    const auto& conditions = each.conditions;
    const auto metric = metric_of(each.unit, each.quantity == "busbw");
    if (metric.empty() || !std::isfinite(each.value)) continue;
    values[metric].add(
        fmt::format(R"(test="{}",quantity="{}",device="{}",nodes="{}")",
                    label(conditions.test.empty() ? conditions.collective : conditions.test),
                    label(each.quantity),
                    label(conditions.device.empty() ? "job" : conditions.device), conditions.nodes),
        in_unit_of_metric(each.value, each.unit));
  }
  for (const auto& finding : report.findings) {
    const auto limit = number_in(finding.limit);
    const bool on_a_bus =
        finding.check == "bench.min_busbw" || finding.check.starts_with("bench.job_");
    const auto metric = metric_of(finding.unit, on_a_bus);
    if (metric.empty() || !limit) continue;
    limits[metric].add(labels_of(finding), in_unit_of_metric(*limit, finding.unit));
  }
  for (const auto& [metric, samples] : values) {
    samples.add_to(page, metric, "The best that each test and device reached.");
  }
  for (const auto& [metric, samples] : limits) {
    samples.add_to(page, fmt::format("limit_{}", metric), "The limit that a check compared with.");
  }
}

}  // namespace

std::string to_prometheus(const Report& report, const RenderOptions& options) {
  Page page(report);
  page.family("info", "What ran: the version of muster and the profile it judged by.");
  const auto node =
      report.snapshot.empty() ? fmt::format("node=\"{}\",", label(name_of(report))) : std::string();
  page.sample(fmt::format(R"({}profile="{}",version="{}")", node, label(report.profile),
                          label(report.muster)),
              1);
  page.family("verdict", "Verdict of the run: 0 healthy, 2 unknown, 3 unhealthy.");
  page.sample("", number_of(report.verdict));
  add_checks(page, report);
  add_headroom(page, report);
  add_readings(page, report, options.all_values);
  if (!report.benchmark.empty()) add_measurements(page, report);
  add_coverage(page, report);
  add_probes(page, report);
  page.family("run_duration_seconds", "How long the run took.");
  page.sample("", report.duration_ms / 1000.0);
  if (const auto started = parse_utc(report.started)) {
    page.family("last_run_timestamp_seconds", "When the run started.");
    page.sample("", started->time_since_epoch().count());
  }
  return std::move(page).text();
}

}  // namespace muster
