// SPDX-License-Identifier: Apache-2.0
#include "lib/report/summary.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string_view>

#include "lib/base/text.hpp"

namespace muster {
namespace {

// Counts the checks if the report of an older version has no coverage.
std::string judged_of_selected(const Report& report) {
  auto judged = report.coverage.judged;
  auto selected = report.coverage.selected;
  if (selected == 0) {
    selected = std::ssize(report.checks);
    judged = std::ranges::count_if(
        report.checks, [](const CheckResult& check) { return is_judged(check.outcome); });
  }
  return fmt::format("{} of {} check{}", judged, selected, selected == 1 ? "" : "s");
}

// A warning does not explain an unknown verdict.
bool explains(const Finding& finding, const Report& report) {
  return report.verdict != Verdict::unknown || finding.outcome == Outcome::unknown;
}

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
  if (count_checks(report, Outcome::pass) > 0) return "";
  return fmt::format("nothing here could be judged, {} skipped",
                     count_checks(report, Outcome::skip));
}

std::string coverage(const Report& report) {
  const auto& gaps = report.coverage.not_observed;
  std::string text;
  if (why_undecided(report).empty()) text = judged_of_selected(report);
  for (std::size_t i = 0; i < gaps.size(); ++i) {
    const std::string_view before = i > 0 ? ", " : text.empty() ? "" : "; ";
    text += fmt::format("{}{}{}", before, i == 0 ? "not observed: " : "", gaps[i].what);
  }
  return text;
}

std::string sentence(const Finding& finding) {
  const bool whole_node = finding.device.empty() || finding.device == "node";
  const auto remedy = describe(finding.remedy);
  return fmt::format("{}{}{}: {}{}{}", finding.check, whole_node ? "" : " ",
                     whole_node ? "" : finding.device, finding.message, remedy.empty() ? "" : "; ",
                     remedy);
}

std::string one_line(const Report& report, std::size_t max_length) {
  const auto* leading = leading_finding(report);
  const auto why = why_undecided(report);
  const auto verdict = fmt::format("{}: {}", to_string(report.verdict), why);
  auto end = coverage(report);
  if (!why.empty() && !end.empty()) end = fmt::format("; {}", end);
  if (leading == nullptr || !explains(*leading, report)) {
    return printable(fmt::format("{}{}", verdict, end), max_length);
  }
  const auto others = count_findings(report, leading->outcome) - 1;
  const auto more = others == 0 ? std::string() : fmt::format(" (and {} more)", others);
  const auto room_before = [&](std::string_view tail) {
    return max_length - std::min(max_length, verdict.size() + more.size() + tail.size());
  };
  // If there is little room, leave out what was not observed.
  constexpr std::size_t kLeastSentence = 30;
  if (!end.empty()) end = fmt::format("; {}", end);
  if (room_before(end) < kLeastSentence) {
    end = fmt::format("; {}", judged_of_selected(report));
  }
  return fmt::format("{}{}{}{}", verdict, printable(sentence(*leading), room_before(end)), more,
                     end);
}

}  // namespace muster
