// SPDX-License-Identifier: Apache-2.0

#include "slurm/policy/decide.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "lib/base/text.hpp"
#include "lib/report/summary.hpp"
#include "slurm/policy/limits.hpp"
#include "slurm/policy/node_memory.hpp"
#include "slurm/policy/reason.hpp"

namespace muster::slurm {
namespace {

// Why the run is not clean for the drain; empty if it is.
std::string not_clean(const Report& report, const NodeMemory& drain) {
  if (report.verdict != Verdict::healthy) {
    const auto* const leading = leading_finding(report);
    return leading == nullptr ? fmt::format("the verdict is {}", to_string(report.verdict))
                              : fmt::format("the verdict is {}: {}", to_string(report.verdict),
                                            sentence(*leading));
  }
  const auto check = std::ranges::find(report.checks, drain.check, &CheckResult::id);
  if (check == report.checks.end()) {
    return fmt::format("context {} did not run {}", report.context, drain.check);
  }
  if (check->outcome == Outcome::pass) return "";
  if (check->outcome == Outcome::warn) return fmt::format("{} warns", drain.check);
  return fmt::format("{} did not judge: {}", drain.check, to_string(check->outcome));
}

// The end of a sentence if health checks leave the check out, or it finds nothing to judge here, so
// that no run ends the drain; else empty.
std::string never_ends(const Report& report, const NodeMemory& drain, const std::string& node) {
  if (report.context != "periodic" || report.verdict != Verdict::healthy) return "";
  const auto check = std::ranges::find(report.checks, drain.check, &CheckResult::id);
  const bool ran = check != report.checks.end();
  if (ran && check->outcome != Outcome::skip) return "";
  return fmt::format(": drained {}until an admin runs muster resume {}",
                     ran ? "until it does, or " : "", node);
}

bool differ(const std::string& a, const std::string& b) {
  return !a.empty() && !b.empty() && a != b;
}

// Whether a part was replaced. A GPU that was lost and is back is the same hardware.
bool is_other_hardware(const std::vector<std::string>& before,
                       const std::vector<std::string>& now) {
  const auto lacks = [](const auto& some, const auto& others) {
    return std::ranges::any_of(some, [&](const std::string& each) {
      return std::ranges::find(others, each) == others.end();
    });
  };
  return lacks(before, now) && lacks(now, before);
}

constexpr std::string_view kResumesNone = "resume: false in muster.yaml";

// Why the node may not be resumed now, regardless of its drain; empty if it may.
std::string obstacle_to_resume(const Situation& situation) {
  if (!situation.rules.resume) return std::string(kResumesNone);
  return is_in_maintenance(*situation.node) ? "the node is reserved for maintenance" : "";
}

// The reason why only an admin can resume the node, however many runs are clean; empty for none.
std::string needs_admin(const Situation& situation, const NodeMemory& drain) {
  const auto& rules = situation.rules;
  if (needs_repair(drain.remedy)) {
    return fmt::format("the remedy is to {}", describe(drain.remedy));
  }
  auto flaps = flapping(drain.drains, rules, situation.now);
  if (!flaps.empty()) return flaps;
  if (is_other_hardware(drain.hardware, hash_hardware(situation.identity))) {
    return "its GPUs or adapters are not those that it was drained with";
  }
  const bool may_boot = drain.remedy == Remedy::reboot || drain.remedy == Remedy::reset_gpu ||
                        situation.is_power_saved;
  if (differ(drain.boot, situation.boot_id) && !may_boot) {
    return fmt::format("it was rebooted since, which is not the remedy of {}", drain.check);
  }
  if (!rules.resume) return std::string(kResumesNone);
  return why_not_remembered(*situation.node, rules);
}

// The fault was another machine's. One health check judges this one, whatever the remedy was, and
// even if it did not run the check of the drain.
Decision decide_for_other_host(const Situation& situation, Decision decision) {
  const auto& report = report_of_drain(situation);
  if (!is_health_check(report)) return decision;
  decision.clean = report.verdict == Verdict::healthy;
  if (!decision.clean) return decision;
  decision.why = obstacle_to_resume(situation);
  if (!decision.why.empty()) return decision;
  decision.action = Action::resume;
  decision.why = fmt::format(
      "the name belongs to another host by now, so the drain for {} is void, and this host is "
      "healthy",
      decision.check);
  return decision;
}

// Returns what still has to happen before the node can be resumed; empty for nothing.
std::string waits_for(const Situation& situation, const NodeMemory& drain) {
  if (drain.remedy == Remedy::reboot && !differ(drain.boot, situation.boot_id)) {
    return "the node has not been rebooted since";
  }
  const int runs = drain.clean + 1;
  if (runs < situation.rules.clean_runs) {
    return fmt::format("clean run {} of {}", runs, situation.rules.clean_runs);
  }
  return is_in_maintenance(*situation.node) ? "the node is reserved for maintenance" : "";
}

constexpr std::size_t kLongestQuote = 200;  // of a reason that is not muster's

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

// For a drained node whose report calls for a drain.
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
  const bool fails = finding.outcome == Outcome::fail;
  const auto subject = subject_of(finding.check, finding.device);
  decision.why =
      finding.check == drain->check
          ? fmt::format("{} {}", subject, fails ? "still fails" : "is still unknown")
          : fmt::format("{} {}; the node was drained for {}", subject,
                        fails ? "fails" : "is unknown", subject_of(drain->check, drain->device));
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

// Whether to keep or resume a node with this drain, which the report no longer calls for.
Decision decide_recovery(const Situation& situation, const NodeMemory& drain) {
  Decision decision{.action = Action::keep, .check = drain.check, .remedy = drain.remedy};
  const auto& report = report_of_drain(situation);
  decision.why = not_clean(report, drain);
  if (cleanness_of(report, situation.rules, drain) == Cleanness::neither) {
    decision.why = "only health checks count";
  }
  decision.clean = decision.why.empty();
  if (is_other_host(drain, situation.identity, situation.machine)) {
    return decide_for_other_host(situation, std::move(decision));
  }
  if (!decision.clean) {
    const auto ends = never_ends(report, drain, situation.node->name);
    if (!ends.empty()) decision.admin = decision.why;
    decision.why += ends;
    return decision;
  }
  if (is_left_by_a_job(drain.check)) {
    decision.why = obstacle_to_resume(situation);
    if (!decision.why.empty()) return decision;
    decision.action = Action::resume;
    decision.why = fmt::format("the leftover of an ended job is gone: {} passes", drain.check);
    return decision;
  }
  decision.why = needs_admin(situation, drain);
  if (!decision.why.empty()) {
    decision.admin = decision.why;
    decision.why +=
        fmt::format(": drained until an admin runs muster resume {}", situation.node->name);
    return decision;
  }
  decision.why = waits_for(situation, drain);
  if (!decision.why.empty()) return decision;
  decision.action = Action::resume;
  const int runs = drain.clean + 1;  // may exceed clean_runs if something else delayed it
  decision.why = fmt::format("clean run {} of {}: {} passes", runs,
                             std::max(runs, situation.rules.clean_runs), drain.check);
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

Cleanness cleanness_of(const Report& report, const Rules& rules, const NodeMemory& drain) {
  if (drain_finding(report, rules) != nullptr) return Cleanness::unclean;
  if (report.verdict == Verdict::healthy && !is_health_check(report)) return Cleanness::neither;
  return not_clean(report, drain).empty() ? Cleanness::clean : Cleanness::unclean;
}

const Report& report_of_drain(const Situation& situation) {
  return situation.of_drained == nullptr ? *situation.report : *situation.of_drained;
}

bool is_left_by_a_job(std::string_view check) {
  return check == "gpu.processes" || check == "gpu.memory_used";
}

bool is_health_check(const Report& report) {
  constexpr std::array<std::string_view, 3> kContexts{"periodic", "boot", "manual"};
  return std::ranges::find(kContexts, report.context) != kContexts.end();
}

std::string flapping(const std::vector<Time>& drains, const Rules& rules, Time now) {
  const auto since = now - whole(rules.flap_window);
  const auto count =
      std::ranges::count_if(drains, [&](Time at) { return at > since && at <= now; });
  if (count < rules.flaps) return "";
  return fmt::format("{} drains within {}", count, to_string(rules.flap_window));
}

int seriousness(Remedy remedy) {
  switch (remedy) {
    case Remedy::reseat_or_replace:
    case Remedy::report_to_provider:
      return 5;
    case Remedy::reboot:
      return 4;
    case Remedy::reset_gpu:
      return 3;
    case Remedy::restart_service:
    case Remedy::restart_app:
      return 2;
    case Remedy::fix_config:
      return 1;
    case Remedy::watch:
    case Remedy::none:
      break;
  }
  return 0;
}

std::optional<NodeMemory> current_drain(const Situation& situation) {
  const bool is_drained = situation.node && standing_of(*situation.node) == Standing::drained;
  return is_drained ? own_drain(*situation.node) : std::nullopt;
}

const Finding* drain_finding(const Report& report, const Rules& rules) {
  const auto* const leading = leading_finding(report);
  if (leading == nullptr || report.verdict == Verdict::healthy) return nullptr;
  if (report.verdict == Verdict::unhealthy) {
    if (leading->outcome != Outcome::fail) return nullptr;
    // The first of the most serious ones.
    return &*std::ranges::max_element(report.findings, {}, [](const Finding& each) {
      return each.outcome == Outcome::fail ? seriousness(each.remedy) : -1;
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
