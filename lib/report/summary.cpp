// SPDX-License-Identifier: Apache-2.0
#include "lib/report/summary.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "lib/base/text.hpp"

namespace muster {
namespace {

constexpr std::array kWorstFirst{
    Outcome::fail, Outcome::unknown, Outcome::warn, Outcome::pass, Outcome::skip};

}  // namespace

std::size_t count_checks(const Report& report, Outcome outcome) {
  return static_cast<std::size_t>(
      std::ranges::count(report.checks, outcome, &CheckResult::outcome));
}

std::size_t count_findings(const Report& report, Outcome outcome) {
  return static_cast<std::size_t>(std::ranges::count(report.findings, outcome, &Finding::outcome));
}

std::string number_of_checks(const Report& report) {
  return fmt::format("{} check{}", report.checks.size(), report.checks.size() == 1 ? "" : "s");
}

std::string count_by_outcome(const Report& report) {
  std::string counts;
  for (const auto outcome : kWorstFirst) {
    const auto count = count_checks(report, outcome);
    if (count == 0) continue;
    counts += fmt::format("{}{} {}", counts.empty() ? "" : ", ", count, to_string(outcome));
  }
  return counts;
}

const Finding* leading_finding(const Report& report) {
  const auto worst = std::ranges::min_element(
      report.findings, {}, [](const Finding& finding) { return rank(finding.outcome); });
  if (worst == report.findings.end() || rank(worst->outcome) >= rank(Outcome::pass)) return nullptr;
  return &*worst;
}

std::string why_undecided(const Report& report) {
  if (report.verdict != Verdict::unknown || leading_finding(report) != nullptr) return "";
  if (report.checks.empty()) return "no check was selected";
  return fmt::format("nothing here could be judged, {} skipped",
                     count_checks(report, Outcome::skip));
}

std::string sentence(const Finding& finding) {
  const bool whole_node = finding.device.empty() || finding.device == "node";
  const auto remedy = describe(finding.remedy);
  return fmt::format("{}{}{}: {}{}{}",
                     finding.check,
                     whole_node ? "" : " ",
                     whole_node ? "" : finding.device,
                     finding.message,
                     remedy.empty() ? "" : "; ",
                     remedy);
}

std::string one_line(const Report& report, std::size_t max_length) {
  const auto* leading = leading_finding(report);
  if (const auto why = why_undecided(report); !why.empty()) {
    return printable(fmt::format("{}: {}", to_string(report.verdict), why), max_length);
  }
  if (leading == nullptr) {
    return printable(fmt::format("{}: {}: {}",
                                 to_string(report.verdict),
                                 number_of_checks(report),
                                 count_by_outcome(report)),
                     max_length);
  }
  const auto others = count_findings(report, leading->outcome) - 1;
  const auto more = others == 0 ? std::string() : fmt::format(" (and {} more)", others);
  const auto begin = fmt::format("{}: ", to_string(report.verdict));
  const auto room = max_length - std::min(max_length, begin.size() + more.size());
  return fmt::format("{}{}{}", begin, printable(sentence(*leading), room), more);
}

}  // namespace muster
