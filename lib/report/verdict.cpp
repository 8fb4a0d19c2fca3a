// SPDX-License-Identifier: Apache-2.0
#include "lib/report/verdict.hpp"

#include <algorithm>
#include <iterator>

#include "lib/base/text.hpp"
#include "lib/report/summary.hpp"

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
    const bool counts = finding.outcome == Outcome::unknown &&
                        std::ranges::any_of(count_unknown, [&](const auto& glob) {
                          return matches_glob(glob, finding.check);
                        });
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

}  // namespace

int exit_status(Verdict verdict) {
  if (verdict == Verdict::healthy) return kExitHealthy;
  return verdict == Verdict::unhealthy ? kExitUnhealthy : kExitUndecided;
}

void conclude(Report& report, const std::vector<std::string>& checks,
              const std::vector<std::string>& count_unknown) {
  std::ranges::stable_sort(report.findings, {}, rank_of);
  report.checks.clear();
  for (const auto& id : checks) {
    report.checks.push_back({.id = id, .outcome = worst(report.findings, id)});
  }
  report.coverage.selected = std::ssize(report.checks);
  report.coverage.judged = std::ranges::count_if(
      report.checks, [](const CheckResult& check) { return is_judged(check.outcome); });
  report.undecided = undecided(report.findings, count_unknown);
  report.verdict = verdict_of(report);
}

}  // namespace muster
