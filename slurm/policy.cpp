// SPDX-License-Identifier: Apache-2.0
#include "slurm/policy.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>
#include <utility>

#include "lib/base/text.hpp"
#include "lib/report/summary.hpp"
#include "slurm/reason.hpp"

namespace muster::slurm {
namespace {

constexpr std::size_t kLongestQuote = 200;  // of somebody's reason

bool drains_when_unknown(const std::string& check, const Rules& rules) {
  const std::pair<const std::string, std::string>* rule = nullptr;
  for (const auto& each : rules.unknown) {
    if (!matches_glob(each.first, check)) continue;
    if (rule == nullptr || each.first.size() > rule->first.size()) rule = &each;
  }
  return rule != nullptr && rule->second == "drain";
}

// What the report calls for a drain with; none where it does not.
const Finding* drain_finding(const Report& report, const Rules& rules) {
  const auto* const leading = leading_finding(report);
  if (leading == nullptr || report.verdict == Verdict::healthy) return nullptr;
  if (report.verdict == Verdict::unhealthy) {
    return leading->outcome == Outcome::fail ? leading : nullptr;
  }
  const auto finding = std::ranges::find_if(report.findings, [&](const Finding& each) {
    return each.outcome == Outcome::unknown && drains_when_unknown(each.check, rules);
  });
  return finding == report.findings.end() ? nullptr : &*finding;
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

bool is_own(const Situation& situation) {
  return situation.drain && situation.node->reason == situation.drain->reason;
}

std::chrono::seconds whole(Seconds seconds) {
  constexpr double kMost = 1e9;  // some thirty years: times stay in range
  return std::chrono::seconds(static_cast<std::int64_t>(std::min(seconds.value, kMost)));
}

bool is_in(const NodeState& node, const std::string& partition) {
  return std::ranges::find(node.partitions, partition) != node.partitions.end();
}

// The reason outlasts the state: a node that is down by now, or rebooting, was drained all the
// same.
bool was_drained_by_us(const NodeState& node) {
  return is_ours(node.reason) && standing_of(node) != Standing::in_service;
}

std::size_t nodes_in(const std::string& partition, const std::vector<NodeState>& cluster) {
  return static_cast<std::size_t>(std::ranges::count_if(
      cluster, [&](const NodeState& node) { return is_in(node, partition); }));
}

// Which partition of the node has no drain left; a sentence, empty where all have one.
std::string used_up_share(const Situation& situation) {
  const auto since = situation.now - whole(situation.rules.drain_window);
  const auto counts = [&](const NodeState& node) {
    return node.name != situation.node->name && was_drained_by_us(node) &&
           (!node.since || *node.since > since);
  };
  for (const auto& partition : situation.node->partitions) {
    const auto used = static_cast<std::size_t>(std::ranges::count_if(
        situation.cluster,
        [&](const NodeState& node) { return is_in(node, partition) && counts(node); }));
    const auto share = allowance(nodes_in(partition, situation.cluster), situation.rules);
    if (used < share) continue;
    return fmt::format("{} of {} nodes that muster may drain in partition {} within {} are drained",
                       used,
                       share,
                       partition,
                       to_string(situation.rules.drain_window));
  }
  return "";
}

// The node is drained and the report calls for it.
Decision stay_drained(const Situation& situation, Decision decision) {
  const auto& node = *situation.node;
  if (!is_ours(node.reason)) {
    decision.why = drained_by(node);
    return decision;
  }
  const bool is_settled =
      !situation.drain ||
      situation.now >= situation.drain->at + whole(situation.rules.drain_window);
  if (is_own(situation) && !is_settled &&
      !within_allowance(node, situation.cluster, situation.rules)) {
    decision.action = Action::resume;
    decision.why = fmt::format(
        "other nodes were drained before, and {} of a partition are muster's share within {}",
        to_string(situation.rules.most_drained),
        to_string(situation.rules.drain_window));
    decision.loud = true;
    return decision;
  }
  decision.action = Action::keep;
  decision.why = drained_by(node);
  return decision;
}

Decision decide_sick(const Situation& situation, const Finding& finding) {
  Decision decision{
      .check = finding.check, .device = finding.device, .remedy = finding.remedy, .sick = true};
  const auto& node = *situation.node;
  const auto standing = standing_of(node);
  if (standing == Standing::drained) return stay_drained(situation, std::move(decision));
  if (standing != Standing::in_service) {
    decision.why = state_in_slurm(node);
    return decision;
  }
  decision.loud = true;
  if (!situation.rules.drain) {
    decision.why = "the site's rules let muster drain no node";
    return decision;
  }
  decision.why = used_up_share(situation);
  if (!decision.why.empty()) return decision;
  decision.action = Action::drain;
  decision.why = sentence(finding);
  decision.reason = make_reason(finding);
  decision.loud = false;
  return decision;
}

// Why this run says nothing about what the node was drained for; empty where it is a clean one.
std::string not_clean(const Report& report, const OwnDrain& drain) {
  if (report.verdict != Verdict::healthy) {
    const auto* const leading = leading_finding(report);
    return leading == nullptr
               ? fmt::format("the verdict is {}", to_string(report.verdict))
               : fmt::format(
                     "the verdict is {}: {}", to_string(report.verdict), sentence(*leading));
  }
  const auto check = std::ranges::find(report.checks, drain.check, &CheckResult::id);
  if (check == report.checks.end()) {
    return fmt::format("context {} did not run {}", report.context, drain.check);
  }
  if (check->outcome == Outcome::pass) return "";
  if (check->outcome == Outcome::warn) return fmt::format("{} warns", drain.check);
  return fmt::format("{} did not judge: {}", drain.check, to_string(check->outcome));
}

bool differ(const std::string& a, const std::string& b) {
  return !a.empty() && !b.empty() && a != b;
}

bool is_health_check(const Report& report) {
  constexpr std::array<std::string_view, 3> kContexts{"periodic", "boot", "manual"};
  return std::ranges::find(kContexts, report.context) != kContexts.end();
}

// One part came in the place of another. A GPU that was lost and is back is the same hardware.
bool is_other_hardware(std::string_view recorded, std::string_view present) {
  const auto before = split_words(recorded);
  const auto now = split_words(present);
  const auto lacks = [](const auto& some, const auto& others) {
    return std::ranges::any_of(some, [&](std::string_view each) {
      return std::ranges::find(others, each) == others.end();
    });
  };
  return lacks(before, now) && lacks(now, before);
}

std::string flapping(const Situation& situation) {
  const auto since = situation.now - whole(situation.rules.flap_window);
  const auto drains = std::ranges::count_if(situation.drains, [&](Time at) { return at > since; });
  if (drains < situation.rules.flaps) return "";
  return fmt::format("drain {} within {}", drains, to_string(situation.rules.flap_window));
}

// What only an admin can settle, however often the node is found well; empty for nothing.
std::string needs_admin(const Situation& situation) {
  const auto& drain = *situation.drain;
  if (drain.remedy == Remedy::reseat_or_replace || drain.remedy == Remedy::report_to_provider) {
    return fmt::format("the remedy is to {}", describe(drain.remedy));
  }
  if (auto flaps = flapping(situation); !flaps.empty()) return flaps;
  if (is_other_hardware(drain.identity, situation.identity)) {
    return "its GPUs or adapters are not those that it was drained with";
  }
  const bool may_boot = drain.remedy == Remedy::reboot || drain.remedy == Remedy::reset_gpu;
  if (differ(drain.boot_id, situation.boot_id) && !may_boot) {
    return fmt::format("it was rebooted since, which is not the remedy of {}", drain.check);
  }
  return situation.rules.resume ? "" : "the site's rules let muster resume no node";
}

// What will come about by itself or by the remedy; empty for nothing.
std::string waits_for(const Situation& situation) {
  const auto& drain = *situation.drain;
  if (drain.remedy == Remedy::reboot && !differ(drain.boot_id, situation.boot_id)) {
    return "the node has not been rebooted since";
  }
  const int runs = drain.clean_runs + 1;
  if (runs >= situation.rules.clean_runs) return "";
  return fmt::format("clean run {} of {}", runs, situation.rules.clean_runs);
}

// The node is drained with our reason, by this node, and the report does not call for it any more.
Decision decide_own(const Situation& situation) {
  const auto& drain = *situation.drain;
  Decision decision{.action = Action::keep, .check = drain.check, .remedy = drain.remedy};
  decision.why = not_clean(*situation.report, drain);
  if (tally(*situation.report, situation.rules, drain) == Tally::neither) {
    decision.why = "only health checks count";
  }
  decision.clean = decision.why.empty();
  if (!decision.clean) return decision;
  decision.why = needs_admin(situation);
  if (!decision.why.empty()) {
    decision.why +=
        fmt::format(": drained until an admin says muster resume {}", situation.node->name);
    return decision;
  }
  decision.why = waits_for(situation);
  if (!decision.why.empty()) return decision;
  decision.action = Action::resume;
  decision.why = fmt::format("clean run {} of {}: {} is well again",
                             drain.clean_runs + 1,
                             situation.rules.clean_runs,
                             drain.check);
  return decision;
}

Decision decide_well(const Situation& situation) {
  const auto& node = *situation.node;
  const auto standing = standing_of(node);
  Decision decision;
  if (standing == Standing::in_service) {
    decision.why = situation.drain ? "somebody else resumed the node" : "the node is in service";
  } else if (standing != Standing::drained) {
    decision.why = state_in_slurm(node);
  } else if (is_own(situation)) {
    return decide_own(situation);
  } else if (is_ours(node.reason) && !situation.drain) {
    decision.why = fmt::format("this node has no record of its drain: muster resume {}", node.name);
  } else {
    decision.why = drained_by(node);
  }
  return decision;
}

}  // namespace

std::string_view to_string(Action action) {
  switch (action) {
    case Action::drain:
      return "drain";
    case Action::keep:
      return "keep";
    case Action::resume:
      return "resume";
    case Action::nothing:
      break;
  }
  return "nothing";
}

Decision decide(const Situation& situation) {
  const auto* const finding = drain_finding(*situation.report, situation.rules);
  if (!situation.node) {
    Decision decision{.why = situation.trouble};
    if (finding == nullptr) return decision;
    decision.check = finding->check;
    decision.device = finding->device;
    decision.remedy = finding->remedy;
    decision.sick = true;
    return decision;
  }
  return finding != nullptr ? decide_sick(situation, *finding) : decide_well(situation);
}

Tally tally(const Report& report, const Rules& rules, const OwnDrain& drain) {
  if (drain_finding(report, rules) != nullptr) return Tally::unclean;
  if (report.verdict == Verdict::healthy && !is_health_check(report)) return Tally::neither;
  return not_clean(report, drain).empty() ? Tally::clean : Tally::unclean;
}

bool is_graver(Remedy remedy, Remedy other) {
  const auto rank = [](Remedy each) {
    if (each == Remedy::reseat_or_replace || each == Remedy::report_to_provider) return 3;
    if (each == Remedy::reboot) return 2;
    return each == Remedy::reset_gpu ? 1 : 0;
  };
  return rank(remedy) > rank(other);
}

bool needs_slurm(const Report& report, const Rules& rules, const Known& known) {
  return known.drained_by_us || !known.boot || drain_finding(report, rules) != nullptr;
}

std::size_t allowance(std::size_t size, const Rules& rules) {
  constexpr double kWhole = 100;
  // A percentage such as 0.29 % of 10000 is a little less than 29 in binary.
  constexpr double kRounding = 1e-9;
  const auto percent = std::min(rules.most_drained.value, kWhole);
  const auto share = static_cast<double>(size) * percent / kWhole;
  return std::max<std::size_t>(1, static_cast<std::size_t>(share + kRounding));
}

// A time that Slurm did not tell comes before all others.
bool within_allowance(const NodeState& node,
                      const std::vector<NodeState>& cluster,
                      const Rules& rules) {
  const auto goes_before = [&](const NodeState& other) {
    if (other.name == node.name || !was_drained_by_us(other)) return false;
    if (other.since == node.since) return other.name < node.name;
    if (!other.since || !node.since) return !other.since;
    return *other.since<*node.since&& * other.since> * node.since - whole(rules.drain_window);
  };
  return std::ranges::all_of(node.partitions, [&](const std::string& partition) {
    const auto before = std::ranges::count_if(cluster, [&](const NodeState& other) {
      return is_in(other, partition) && goes_before(other);
    });
    return static_cast<std::size_t>(before) < allowance(nodes_in(partition, cluster), rules);
  });
}

}  // namespace muster::slurm
