// SPDX-License-Identifier: Apache-2.0
#include "slurm/status/status.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "slurm/policy/allowance.hpp"
#include "slurm/policy/drain_cause.hpp"
#include "slurm/policy/reason.hpp"
#include "slurm/policy/recovery.hpp"
#include "slurm/policy/remembering.hpp"

namespace muster::slurm {
namespace {

// What the node remembers of the drain that stands, in Slurm or in this machine's history.
struct Remembered {
  std::optional<int> clean_runs;
  std::vector<Time> drains;
};

Remembered remembered(const NodeState& node, const History* history) {
  if (const auto memory = memory_of_drain(node)) {
    return {.clean_runs = memory->clean, .drains = memory->drains};
  }
  if (history == nullptr) return {};
  const auto drain = history->drain_of(node.name);
  const auto drains = history->drains_of(node.name);
  if (!drain || !*drain || !drains || (*drain)->reason != node.reason) return {};
  return {.clean_runs = (*drain)->clean_runs, .drains = *drains};
}

// As the rules of resuming have it, as far as another machine can tell.
std::string until(const DrainCause& cause, const Remembered& known, const NodeState& node,
                  const Rules& rules, Time now) {
  const auto admin = fmt::format("muster resume {}", node.name);
  if (is_left_by_a_job(cause.check)) return "what an ended job left is gone";
  if (needs_repair(cause.remedy)) return fmt::format("it is repaired, then {}", admin);
  if (!rules.resume) return fmt::format("an admin says {} (resume: false)", admin);
  if (const auto flaps = flapping(known.drains, rules, now); !flaps.empty()) {
    return fmt::format("an admin says {}: {}", admin, flaps);
  }
  if (!known.clean_runs) return "its health checks are clean; how many, its own history tells";
  const auto runs = fmt::format("clean run {} of {}", rules.clean_runs, rules.clean_runs);
  const auto reboot = cause.remedy == Remedy::reboot ? "a reboot, and " : "";
  return fmt::format("{}{} ({} so far)", reboot, runs, *known.clean_runs);
}

DrainedNode drained_node(const NodeState& node, const Rules& rules, Time now,
                         const History* history) {
  const auto cause = cause_of(node);
  const auto known = remembered(node, history);
  return {.node = node,
          .check = cause.check,
          .device = cause.device,
          .remedy = cause.remedy == Remedy::none ? "" : std::string(to_string(cause.remedy)),
          .clean_runs = known.clean_runs,
          .until = until(cause, known, node, rules, now),
          .accepted = cause.accepted};
}

// What counts for the limits of one partition.
struct Counts {
  std::size_t window = 0, standing = 0, repair = 0;
};

std::vector<UsedUp> used_up(const std::vector<NodeState>& cluster, const Rules& rules, Time now) {
  std::map<std::string, Counts> partitions;
  for (const auto& node : cluster) {
    if (!was_drained_by_us(node)) continue;
    const bool repair = needs_repair(cause_of(node).remedy);
    for (const auto& name : node.partitions) {
      auto& counts = partitions[name];
      if (!node.since || *node.since > now - whole(rules.drain_window)) ++counts.window;
      ++(repair ? counts.repair : counts.standing);
    }
  }
  std::vector<UsedUp> limits;
  for (const auto& [name, counts] : partitions) {
    const auto up = nodes_up_in(name, cluster);
    const auto add = [&, &name = name](std::string_view key, const auto& share, std::size_t count) {
      const auto most = allowance(up, share);
      if (count >= most) {
        limits.push_back(
            {.partition = name, .limit = std::string(key), .drained = count, .most = most});
      }
    };
    add("most_drained", rules.most_drained, counts.window);
    add("most_standing", rules.most_standing, counts.standing);
    add("most_in_repair", rules.most_in_repair, counts.repair);
  }
  return limits;
}

// What nodes in service have noted with themselves in Slurm.
void add_noted_refusals(const std::vector<NodeState>& cluster,
                        const std::set<std::string_view>& wanted, Time now,
                        std::vector<Event>& refused) {
  for (const auto& node : cluster) {
    if (!wanted.empty() && !wanted.contains(node.name)) continue;
    const auto memory = parse_node_memory(node.memory);
    if (!memory || !memory->refused || standing_of(node) != Standing::in_service) continue;
    const auto& noted = *memory->refused;
    const bool is_told = std::ranges::find(refused, node.name, &Event::node) != refused.end();
    if (is_told || now - noted.at > kRefusalLasts) continue;
    refused.push_back({.at = noted.at,
                       .node = node.name,
                       .kind = "refused",
                       .check = noted.check,
                       .device = noted.device,
                       .message = subject_of(noted.check, noted.device)});
  }
}

// The last refusal of each node that nothing followed: neither its end nor a drain.
std::vector<Event> refusals(const std::vector<std::string>& nodes, Time now, const History& history,
                            std::string& trouble) {
  const auto events = history.events({.nodes = nodes, .since = now - std::chrono::hours(24)});
  if (!events) {
    trouble = events.error().message;
    return {};
  }
  std::map<std::string, Event> last;
  const std::set<std::string_view> ends{"over", "drained", "resumed", "released"};
  for (const auto& event : *events) {
    if (event.context == "admin") continue;
    if (event.kind == "refused") last[event.node] = event;
    if (ends.contains(event.kind)) last.erase(event.node);
  }
  std::vector<Event> standing;
  for (auto& [node, event] : last) standing.push_back(std::move(event));
  return standing;
}

void count(ClusterStatus& status, const NodeState& node) {
  ++status.nodes;
  if (node.state.find('*') != std::string::npos) status.not_responding.push_back(node);
  switch (standing_of(node)) {
    case Standing::in_service:
      ++status.in_service;
      break;
    case Standing::drained:
      if (is_kept_out(node)) {
        status.kept_out.push_back(node);
      } else if (cause_of(node).check.empty()) {
        ++status.drained_by_others;
      }
      break;
    case Standing::down:
      ++status.down;
      break;
    case Standing::away:
      ++status.away;
      break;
  }
}

}  // namespace

ClusterStatus status_of(const std::vector<NodeState>& cluster,
                        const std::vector<std::string>& nodes, const Rules& rules, Time now,
                        const History* history) {
  const std::set<std::string_view> wanted(nodes.begin(), nodes.end());
  ClusterStatus status{.at = now, .clean_runs = rules.clean_runs};
  for (const auto& node : cluster) {
    if (!wanted.empty() && !wanted.contains(node.name)) continue;
    count(status, node);
    if (was_drained_by_us(node) && !cause_of(node).check.empty()) {
      status.drained.push_back(drained_node(node, rules, now, history));
    }
  }
  std::ranges::stable_sort(
      status.drained, {}, [](const DrainedNode& each) { return each.node.since.value_or(Time()); });
  status.stopped = stopped_checks(cluster, rules);
  status.used_up = used_up(cluster, rules, now);
  if (history == nullptr) {
    status.history = "there is no history on this machine";
  } else {
    status.refused = refusals(nodes, now, *history, status.history);
  }
  add_noted_refusals(cluster, wanted, now, status.refused);
  return status;
}

}  // namespace muster::slurm
