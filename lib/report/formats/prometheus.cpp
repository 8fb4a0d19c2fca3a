// SPDX-License-Identifier: Apache-2.0
// Metrics for node_exporter's textfile collector. Labels come from fixed lists (checks, probes,
// contexts), without devices and messages, so that the number of series is limited.
#include <fmt/format.h>

#include <cstdint>
#include <ctime>
#include <optional>

#include "lib/base/text.hpp"
#include "lib/report/format.hpp"
#include "lib/report/summary.hpp"

namespace muster {
namespace {

// Outcomes as numbers, ascending by severity: an alert can use `> 0`, a dashboard the maximum.
int number_of(Outcome outcome) { return rank(Outcome::pass) - rank(outcome); }

// Escapes the two printable characters that are special in a label.
std::string label(std::string_view raw) {
  std::string escaped;
  for (const char c : printable(raw, 200)) {
    if (c == '\\' || c == '"') escaped.push_back('\\');
    escaped.push_back(c);
  }
  return escaped;
}

// Converts "2026-11-20T12:00:00Z" to seconds since 1970.
std::optional<std::int64_t> seconds_since_epoch(const std::string& started) {
  std::tm broken{};
  const char* const end = ::strptime(started.c_str(), "%Y-%m-%dT%H:%M:%SZ", &broken);
  if (end == nullptr || *end != '\0') return std::nullopt;
  return ::timegm(&broken);
}

class Page {
 public:
  explicit Page(const Report& report) : context_(label(report.context)) {}

  void family(std::string_view name, std::string_view help) {
    name_ = name;
    text_ += fmt::format("# HELP {} {}\n# TYPE {} gauge\n", name, help, name);
  }

  // Adds a sample. `labels` follow the context between the braces.
  template <class Number>
  void sample(std::string_view labels, Number value) {
    text_ += fmt::format("{}{{context=\"{}\"{}{}}} {}\n", name_, context_,
                         labels.empty() ? "" : ",", labels, value);
  }

  [[nodiscard]] std::string text() && { return std::move(text_); }

 private:
  std::string context_;
  std::string name_;
  std::string text_;
};

void add_checks(Page& page, const Report& report) {
  page.family("muster_check_outcome",
              "Outcome of each check: -1 skip, 0 pass, 1 warn, 2 unknown, 3 fail.");
  for (const auto& check : report.checks) {
    page.sample(fmt::format("check=\"{}\"", label(check.id)), number_of(check.outcome));
  }
  page.family("muster_findings", "Findings of the run by outcome.");
  for (const auto outcome :
       {Outcome::pass, Outcome::warn, Outcome::fail, Outcome::unknown, Outcome::skip}) {
    page.sample(fmt::format("outcome=\"{}\"", to_string(outcome)), count_findings(report, outcome));
  }
}

void add_coverage(Page& page, const Report& report) {
  page.family("muster_checks_selected", "Checks of the run.");
  page.sample("", report.coverage.selected);
  page.family("muster_checks_judged", "Checks of the run that passed, warned or failed.");
  page.sample("", report.coverage.judged);
  page.family("muster_not_observed",
              "Facts that checks needed and that were not observed: 1 if the verdict requires "
              "them, else 0.");
  for (const auto& gap : report.coverage.not_observed) {
    page.sample(fmt::format("what=\"{}\"", label(gap.what)), gap.required ? 1 : 0);
  }
}

void add_probes(Page& page, const Report& report) {
  page.family("muster_probe_duration_seconds", "How long each probe took.");
  for (const auto& probe : report.probes) {
    page.sample(fmt::format("probe=\"{}\"", label(probe.name)), probe.duration_ms / 1000.0);
  }
  page.family("muster_probe_answered",
              "Whether the probe answered: 0 after a time-out or an error.");
  for (const auto& probe : report.probes) {
    const bool answered = probe.status == "ok" || probe.status == "absent";
    page.sample(fmt::format("probe=\"{}\"", label(probe.name)), answered ? 1 : 0);
  }
}

}  // namespace

std::string to_prometheus(const Report& report, const RenderOptions& /*options*/) {
  Page page(report);
  page.family("muster_info", "What ran: the version of muster and the profile it judged by.");
  page.sample(fmt::format(R"(node="{}",profile="{}",version="{}")", label(report.node),
                          label(report.profile), label(report.muster)),
              1);
  page.family("muster_verdict", "Verdict of the run: 0 healthy, 1 unhealthy, 2 unknown.");
  page.sample("", exit_status(report.verdict));
  add_checks(page, report);
  add_coverage(page, report);
  add_probes(page, report);
  page.family("muster_run_duration_seconds", "How long the run took.");
  page.sample("", report.duration_ms / 1000.0);
  if (const auto seconds = seconds_since_epoch(report.started)) {
    page.family("muster_last_run_timestamp_seconds", "When the run started.");
    page.sample("", *seconds);
  }
  return std::move(page).text();
}

}  // namespace muster
