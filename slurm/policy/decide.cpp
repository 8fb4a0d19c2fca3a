// SPDX-License-Identifier: Apache-2.0
#include "slurm/policy/decide.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "lib/base/text.hpp"
#include "lib/report/summary.hpp"
#include "slurm/policy/allowance.hpp"
#include "slurm/policy/own_drain.hpp"
#include "slurm/policy/reason.hpp"
#include "slurm/policy/recovery.hpp"

namespace muster::slurm {
namespace {

constexpr std::size_t kLongestQuote = 200;  // of another's reason

bool drains_when_unknown(const std::string& check, const Rules& rules) {
  const std::pair<const std::string, std::string>* rule = nullptr;
  for (const auto& each : rules.unknown) {
    if (!matches_glob(each.first, check)) continue;
    if (rule == nullptr || each.first.size() > rule->first.size()) rule = &each;
  }
  return rule != nullptr && rule->second == "drain";
}

std::string state_in_slurm(const NodeState& node) {
  return fmt::format("the node is \"{}\" in Slurm", printable(node.state, 40));
}

std::string drained_by(const NodeState& node) {
  const auto reason = node.reason.empty() ? "without a reason"
                                          : fmt::format("with the reason \"{}\"",
                                                        printable(node.reason, kLongestQuote));
  const auto by = node.user.empty() ? "" : fmt::format(" by {}", printable(node.user, 40));
  return fmt::format("the node was drained{} {}", by, reason);
}

// The node is drained and the report calls for it.
Decision stay_drained(const Situation& situation, const Finding& finding, Decision decision) {
  const auto& node = *situation.node;
  const auto drain = current_drain(situation);
  if (!drain) {
    decision.why = drained_by(node);
    return decision;
  }
  // A drain that was compared once stays, even if the share or the partition shrinks later.
  const bool is_settled =
      drain->settled || situation.now >= drain->at + whole(situation.rules.drain_window);
  if (!is_settled) {
    const auto beyond = beyond_share(node, situation.cluster, situation.rules);
    if (!beyond.empty()) {
      decision.action = Action::resume;
      decision.why = fmt::format("other nodes were drained before: {}", beyond);
      decision.loud = true;
      return decision;
    }
  }
  decision.action = Action::keep;
  decision.why = fmt::format("{} {}", subject_of(finding.check, finding.device),
                             finding.outcome == Outcome::fail ? "still fails" : "is still unknown");
  return decision;
}

Decision decide_sick(const Situation& situation, const Finding& finding) {
  Decision decision{
      .check = finding.check, .device = finding.device, .remedy = finding.remedy, .sick = true};
  const auto& node = *situation.node;
  const auto standing = standing_of(node);
  if (standing == Standing::drained) {
    return stay_drained(situation, finding, std::move(decision));
  }
  if (standing != Standing::in_service) {
    decision.why = state_in_slurm(node);
    return decision;
  }
  decision.loud = true;
  if (!situation.rules.drain) {
    decision.why = "drain: false in muster.yaml";
    return decision;
  }
  decision.why = used_up_share(node, situation.cluster, situation.rules, situation.now,
                               {.check = finding.check, .remedy = finding.remedy});
  if (!decision.why.empty()) return decision;
  decision.action = Action::drain;
  decision.why = sentence(finding);
  decision.reason = make_reason(finding, count_others(*situation.report, finding));
  decision.loud = false;
  return decision;
}

Decision decide_well(const Situation& situation) {
  const auto& node = *situation.node;
  const auto standing = standing_of(node);
  if (standing == Standing::in_service) return {.why = "the node is in service"};
  if (standing != Standing::drained) return {.why = state_in_slurm(node)};
  const auto drain = current_drain(situation);
  return drain ? decide_recovery(situation, *drain) : Decision{.why = drained_by(node)};
}

}  // namespace

std::optional<NodeMemory> current_drain(const Situation& situation) {
  const bool is_drained = situation.node && standing_of(*situation.node) == Standing::drained;
  return is_drained ? own_drain(*situation.node) : std::nullopt;
}

const Finding* drain_finding(const Report& report, const Rules& rules) {
  const auto* const leading = leading_finding(report);
  if (leading == nullptr || report.verdict == Verdict::healthy) return nullptr;
  if (report.verdict == Verdict::unhealthy) {
    if (leading->outcome != Outcome::fail) return nullptr;
    // The first of the gravest.
    return &*std::ranges::max_element(report.findings, {}, [](const Finding& each) {
      return each.outcome == Outcome::fail ? gravity(each.remedy) : -1;
    });
  }
  const auto finding = std::ranges::find_if(report.findings, [&](const Finding& each) {
    return each.outcome == Outcome::unknown &&
           std::ranges::count(report.undecided, each.check) > 0 &&
           drains_when_unknown(each.check, rules);
  });
  return finding == report.findings.end() ? nullptr : &*finding;
}

std::size_t count_others(const Report& report, const Finding& finding) {
  const auto all = count_findings(report, Outcome::fail);
  return finding.outcome != Outcome::fail || all == 0 ? 0 : all - 1;
}

Decision decide(const Situation& situation) {
  const auto& report = current_drain(situation) ? report_of_drain(situation) : *situation.report;
  const auto* const finding = drain_finding(report, situation.rules);
  if (situation.node) {
    return finding != nullptr ? decide_sick(situation, *finding) : decide_well(situation);
  }
  Decision decision{.why = situation.trouble};
  if (finding == nullptr) return decision;
  decision.check = finding->check;
  decision.device = finding->device;
  decision.remedy = finding->remedy;
  decision.sick = true;
  return decision;
}

}  // namespace muster::slurm
