// SPDX-License-Identifier: Apache-2.0
#include "lib/report/summary.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <string_view>

#include "lib/base/text.hpp"
#include "lib/hosts/hostlist.hpp"

namespace muster {
namespace {

int rank_of(const Finding& finding) { return rank(finding.outcome); }

Outcome worst(const std::vector<Finding>& findings, std::string_view check) {
  Outcome outcome = Outcome::skip;
  for (const auto& finding : findings) {
    if (finding.check == check && rank_of(finding) < rank(outcome)) outcome = finding.outcome;
  }
  return outcome;
}

std::vector<std::string> undecided(const std::vector<Finding>& findings,
                                   const std::vector<std::string>& count_unknown) {
  std::vector<std::string> ids;
  for (const auto& finding : findings) {
    const bool counts =
        finding.outcome == Outcome::unknown && matches_any(count_unknown, finding.check);
    if (counts && std::ranges::find(ids, finding.check) == ids.end()) ids.push_back(finding.check);
  }
  return ids;
}

Verdict verdict_of(const Report& report) {
  const auto any = [&](Outcome outcome) {
    return std::ranges::find(report.findings, outcome, &Finding::outcome) != report.findings.end();
  };
  if (any(Outcome::fail)) return Verdict::unhealthy;
  const bool judged = any(Outcome::pass) || any(Outcome::warn);
  const bool complete = std::ranges::none_of(report.coverage.not_observed, &NotObserved::required);
  return judged && complete && report.undecided.empty() ? Verdict::healthy : Verdict::unknown;
}

std::int64_t count_judged(const Report& report) {
  return std::ranges::count_if(report.checks, is_judged, &CheckResult::outcome);
}

// Counts the checks if the report of an older version has no coverage.
std::string judged_of_selected(const Report& report) {
  const auto& coverage = report.coverage;
  const bool counted_before = coverage.selected > 0;
  const auto selected = counted_before ? coverage.selected : std::ssize(report.checks);
  return fmt::format("{} of {}", counted_before ? coverage.judged : count_judged(report),
                     counted(static_cast<std::uint64_t>(selected), "check"));
}

// A warning does not explain an unknown verdict.
bool explains(const Finding& finding, const Report& report) {
  return report.verdict != Verdict::unknown || finding.outcome == Outcome::unknown;
}

// A warning is not the reason why a node is healthy.
std::string verdict_beside(const Finding* leading, const Report& report) {
  const auto verdict = to_string(report.verdict);
  if (leading == nullptr || report.verdict != Verdict::healthy) return std::string(verdict);
  const bool warns = leading->outcome == Outcome::warn;
  return fmt::format("{}, {}", verdict, warns ? "warning" : to_string(leading->outcome));
}

constexpr std::string_view kCut = "...";

bool is_harmless(char c) {
  constexpr std::string_view kSpecial = "'\"`$\\*?;|<>&()[]{}!#~";
  return c > ' ' && c < 0x7f && kSpecial.find(c) == std::string_view::npos;
}

// The replacement of `c`, which may be the first byte of several.
char substitute(char c) {
  if (c == ';') return ',';
  if (static_cast<unsigned char>(c) >= 0x80) return '-';
  return is_harmless(c) ? c : ' ';
}

void remove_trailing_blanks(std::string& text) {
  while (!text.empty() && text.back() == ' ') text.pop_back();
}

}  // namespace

int exit_status(Verdict verdict) {
  if (verdict == Verdict::healthy) return kExitHealthy;
  return verdict == Verdict::unhealthy ? kExitUnhealthy : kExitUndecided;
}

int exit_status(const Report& report) {
  return report.judged ? exit_status(report.verdict) : kExitHealthy;
}

std::string name_of(const Report& report) {
  constexpr std::size_t kFew = 4;
  constexpr std::size_t kLongest = 80;
  const auto& nodes = report.nodes;
  if (!is_of_job(report)) {
    return report.node.value_or("").empty() ? "(no name)" : printable(*report.node);
  }
  if (nodes.size() <= kFew) return printable(fmt::format("{}", fmt::join(nodes, ", ")));
  const auto folded = printable(fold_hostlist(nodes));
  if (folded.size() <= kLongest) return folded;
  return printable(fmt::format("{} and {} more",
                               fmt::join(nodes.begin(), nodes.begin() + kFew - 1, ", "),
                               nodes.size() - kFew + 1));
}

std::string why_not_judged(const Report& report) {
  const bool has_bandwidth = report.benchmark == "locate" ||
                             std::ranges::find(report.measurements, "busbw",
                                               &Measurement::quantity) != report.measurements.end();
  return fmt::format("not judged: no limit for this machine{}",
                     has_bandwidth ? ", pass --min-busbw" : "");
}

void conclude(Report& report, const std::vector<std::string>& checks,
              const std::vector<std::string>& count_unknown) {
  std::ranges::stable_sort(report.findings, {}, rank_of);
  report.checks.clear();
  for (const auto& id : checks) {
    report.checks.push_back({.id = id, .outcome = worst(report.findings, id)});
  }
  report.coverage.selected = std::ssize(report.checks);
  report.coverage.judged = count_judged(report);
  report.undecided = undecided(report.findings, count_unknown);
  report.verdict = verdict_of(report);
}

std::size_t count_checks(const Report& report, Outcome outcome) {
  return static_cast<std::size_t>(
      std::ranges::count(report.checks, outcome, &CheckResult::outcome));
}

std::size_t count_findings(const Report& report, Outcome outcome) {
  return static_cast<std::size_t>(std::ranges::count(report.findings, outcome, &Finding::outcome));
}

const Finding* leading_finding(const Report& report) {
  const auto worst = std::ranges::min_element(report.findings, {}, rank_of);
  const bool is_bad = worst != report.findings.end() && rank_of(*worst) < rank(Outcome::pass);
  return is_bad ? &*worst : nullptr;
}

std::string why_undecided(const Report& report) {
  if (report.verdict != Verdict::unknown || leading_finding(report) != nullptr) return "";
  if (report.checks.empty()) return "no check was selected";
  if (count_checks(report, Outcome::pass) > 0) return "";
  return fmt::format("nothing here could be judged, {} skipped",
                     count_checks(report, Outcome::skip));
}

std::string why_undecided_at_exit(const Report& report) {
  if (exit_status(report) != kExitUndecided) return "";
  const auto* const leading = leading_finding(report);
  const auto why = leading != nullptr && explains(*leading, report) ? sentence(*leading)
                   : why_undecided(report).empty()                  ? coverage(report)
                                                                    : why_undecided(report);
  return fmt::format("could not decide (status {}): {}", kExitUndecided, why);
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

std::string one_line(const Report& report, std::size_t max_length, const Finding* leading) {
  if (!report.judged) return printable(why_not_judged(report), max_length);
  if (leading == nullptr) leading = leading_finding(report);
  const auto why = why_undecided(report);
  const auto verdict = fmt::format("{}: {}", verdict_beside(leading, report), why);
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
  constexpr std::size_t kMinSentence = 30;
  if (!end.empty()) end = fmt::format("; {}", end);
  if (room_before(end) < kMinSentence) end = fmt::format("; {}", judged_of_selected(report));
  return fmt::format("{}{}{}{}", verdict, printable(sentence(*leading), room_before(end)), more,
                     end);
}

std::string harmless(std::string_view text, std::size_t max_length) {
  std::string safe;
  for (const char c : text) {
    if (text_width({&c, 1}) == 0) continue;  // a later byte of a character
    const char next = substitute(c);
    if (next == ' ' && (safe.empty() || safe.back() == ' ')) continue;
    if (next == ',' || next == ':') remove_trailing_blanks(safe);
    safe.push_back(next);
  }
  remove_trailing_blanks(safe);
  if (safe.size() <= max_length) return safe;
  const auto mark = kCut.substr(0, max_length);
  safe.resize(max_length - mark.size());
  remove_trailing_blanks(safe);
  safe.append(mark);
  return safe;
}

}  // namespace muster
