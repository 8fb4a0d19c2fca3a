// SPDX-License-Identifier: Apache-2.0
#include "checks/run.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "checks/catalogue.hpp"
#include "checks/folding.hpp"
#include "checks/impact_categories.hpp"
#include "lib/base/text.hpp"
#include "lib/report/summary.hpp"

namespace muster {
namespace {

constexpr std::size_t kLongestDevice = 120;

Context context_of(const Profile& profile, const std::string& name) {
  const auto found = profile.contexts.find(name);
  return found == profile.contexts.end() ? Context{} : found->second;
}

Outcome apply(const Policy& policy, Outcome outcome) {
  if (outcome == Outcome::fail) return policy.fail_as;
  return outcome == Outcome::warn ? policy.warn_as : outcome;
}

// One finding for all missing sections that the check needs.
Findings obstacles(const Snapshot& snapshot, const Check& check) {
  std::vector<std::string> reasons;
  bool skip = true;
  for_each_section(snapshot, [&](Probe probe, const auto& section) {
    if (!check.needs.contains(probe) || section.ok()) return;
    const bool absent = section.status == Status::absent;
    if (absent && check.when_absent == WhenAbsent::judge) return;
    skip = skip && absent && check.when_absent == WhenAbsent::skip;
    reasons.push_back(why_missing(probe, section));
  });
  if (reasons.empty()) return {};
  return {{.device = "node",
           .outcome = skip ? Outcome::skip : Outcome::unknown,
           .message = fmt::format("{}{}", kNotJudged, fmt::join(reasons, "; "))}};
}

Findings findings_of(const Snapshot& snapshot, const Profile& profile, const Context& context,
                     const Check& check) {
  if (check.not_here != nullptr) {
    if (auto nothing = check.not_here(snapshot, profile)) return {*std::move(nothing)};
  }
  Findings findings = obstacles(snapshot, check);
  if (!findings.empty()) return findings;
  return check.judge_in != nullptr ? check.judge_in(snapshot, profile, context)
                                   : check.judge(snapshot, profile);
}

void clear_fault_code(Finding& finding) {
  finding.code.clear();
  finding.category.clear();
}

Findings judge_check(const Snapshot& snapshot, const Profile& profile, const Context& context,
                     const Check& check) {
  Findings findings = findings_of(snapshot, profile, context, check);
  if (findings.empty()) {
    findings.push_back(
        {.device = "node", .outcome = Outcome::unknown, .message = "the check judged nothing"});
  }
  const Policy policy = policy_of(profile, check.id);
  for (auto& finding : findings) {
    finding.check = check.id;
    finding.device = printable(finding.device, kLongestDevice);
    finding.message = printable(finding.message);
    const bool passes = finding.outcome == Outcome::pass;
    finding.outcome = apply(policy, finding.outcome);
    if (!passes && finding.outcome == Outcome::pass) finding.remedy = Remedy::none;
    if (finding.outcome == Outcome::fail) {
      if (finding.code.empty()) finding.code = check.code;
      if (finding.category.empty()) finding.category = impact_category(finding.code);
    } else {
      clear_fault_code(finding);
    }
  }
  return findings;
}

bool is_same_fault(const Finding& finding, const Finding& other) {
  if (rank(other.outcome) > rank(finding.outcome) || other.outcome == Outcome::unknown)
    return false;
  return std::ranges::any_of(finding.seen_by, [&](const SeenBy& seen) {
    return seen.check == other.check && matches_glob(seen.device, other.device);
  });
}

// The more drastic of two remedies for the same hardware.
Remedy stronger(Remedy a, Remedy b) {
  constexpr std::array kLadder{Remedy::none,
                               Remedy::watch,
                               Remedy::reset_gpu,
                               Remedy::reboot,
                               Remedy::reseat_or_replace,
                               Remedy::report_to_provider};
  const auto* place_a = std::ranges::find(kLadder, a);
  const auto* place_b = std::ranges::find(kLadder, b);
  return place_b != kLadder.end() && place_a < place_b ? b : a;
}

// One fault is one finding: if a check listed in `seen_by` reports the same fault at least as
// severely, this finding becomes a skip.
void merge_same_faults(Findings& findings) {
  for (Finding& finding : findings) {
    const bool concern = finding.outcome == Outcome::fail || finding.outcome == Outcome::warn;
    const auto other = std::ranges::find_if(
        findings, [&](const Finding& each) { return is_same_fault(finding, each); });
    if (concern && other != findings.end()) {
      other->remedy = stronger(other->remedy, finding.remedy);
      finding.outcome = Outcome::skip;
      finding.message =
          fmt::format("the same fault as {} {}: {}", other->check, other->device, finding.message);
      finding.remedy = Remedy::none;
      clear_fault_code(finding);
    }
    finding.seen_by.clear();
  }
}

}  // namespace

Policy policy_of(const Profile& profile, std::string_view id) {
  const auto found = profile.policies.find(std::string(id));
  return found == profile.policies.end() ? Policy{} : found->second;
}

std::vector<const Check*> select_checks(const Profile& profile, const Selection& selection) {
  const Context context = context_of(profile, selection.context);
  std::vector<const Check*> selected;
  for (const Check* check : checks::kAll) {
    const bool wanted = selection.only.empty() ? matches_any(context.run, check->id) &&
                                                     !matches_any(context.skip, check->id)
                                               : matches_any(selection.only, check->id);
    const bool runs = wanted || check->id == selection.also;
    if (!runs || matches_any(selection.skip, check->id)) continue;
    if (policy_of(profile, check->id).enabled) selected.push_back(check);
  }
  return selected;
}

ProbeSet probes_needed(const std::vector<const Check*>& checks) {
  ProbeSet needed;
  for (const Check* check : checks) needed = needed | check->needs | check->looks_at;
  // muster.probes alone needs all sections.
  const bool of_muster_alone = !checks.empty() && needed == ProbeSet();
  return of_muster_alone ? ProbeSet::all() : needed;
}

NvmlParts parts_asked(const std::vector<const Check*>& checks) {
  NvmlParts parts;
  for (const Check* check : checks) parts = parts | check->asks;
  return parts;
}

Report judge(const Snapshot& snapshot, const Profile& profile, const Selection& selection) {
  Report report{.node = snapshot.identity->hostname,
                .profile = profile.name,
                .context = selection.context,
                .started = snapshot.taken,
                .physical_host = snapshot.identity->physical_host.value_or("")};
  const Context context = context_of(profile, selection.context);
  std::vector<std::string> ids;
  const auto selected = select_checks(profile, selection);
  for (const Check* check : selected) {
    ids.emplace_back(check->id);
    Findings findings = judge_check(snapshot, profile, context, *check);
    std::ranges::move(findings, std::back_inserter(report.findings));
  }
  merge_same_faults(report.findings);
  report.coverage.not_observed = not_observed(snapshot, profile, context, selected);
  conclude(report, ids, context.count_unknown);
  report.groups = fold(report.findings, snapshot);
  for_each_section(snapshot, [&](Probe probe, const auto& section) {
    if (!section.asked()) return;
    report.probes.push_back({.name = std::string(to_string(probe)),
                             .status = std::string(to_string(section.status)),
                             .duration_ms = section.duration_ms,
                             .reason = section.reason});
  });
  return report;
}

}  // namespace muster
