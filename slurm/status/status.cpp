// SPDX-License-Identifier: Apache-2.0
#include "slurm/status/status.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "slurm/policy/allowance.hpp"
#include "slurm/policy/own_drain.hpp"
#include "slurm/policy/reason.hpp"
#include "slurm/policy/recovery.hpp"

namespace muster::slurm {
namespace {

// The condition for the node to return, as far as Slurm shows it.
std::string until(const NodeMemory& drain, bool is_remembered, const NodeState& node,
                  const Rules& rules, Time now) {
  const auto admin = fmt::format("muster resume {}", node.name);
  if (is_left_by_a_job(drain.check)) return "the leftover of an ended job is gone";
  if (needs_repair(drain.remedy)) return fmt::format("it is repaired, then {}", admin);
  if (!rules.resume) return fmt::format("an admin runs {} (resume: false)", admin);
  if (const auto flaps = flapping(drain.drains, rules, now); !flaps.empty()) {
    return fmt::format("an admin runs {}: {}", admin, flaps);
  }
  const auto reboot = drain.remedy == Remedy::reboot ? "a reboot, and " : "";
  const auto runs = fmt::format("{}clean run {} of {}", reboot, rules.clean_runs, rules.clean_runs);
  return is_remembered ? fmt::format("{} ({} so far)", runs, drain.clean) : runs;
}

DrainedNode drained_node(const NodeState& node, const Rules& rules, Time now) {
  const auto drain = shown_drain(node);
  const bool is_remembered = memory_of_drain(node).has_value();
  return {.node = node,
          .check = drain.check,
          .device = drain.device,
          .remedy = drain.remedy == Remedy::none ? "" : std::string(to_string(drain.remedy)),
          .clean_runs = is_remembered ? std::optional(drain.clean) : std::nullopt,
          .until = until(drain, is_remembered, node, rules, now),
          .accepted = drain.accepted};
}

// The drains that count for the limits of one partition.
struct Counts {
  std::size_t window = 0, standing = 0, repair = 0;
};

std::vector<UsedUp> used_up(const std::vector<NodeState>& cluster, const Rules& rules, Time now) {
  std::map<std::string, Counts> partitions;
  for (const auto& node : cluster) {
    if (!was_drained_by_us(node)) continue;
    const bool repair = needs_repair(shown_drain(node).remedy);
    for (const auto& name : node.partitions) {
      auto& counts = partitions[name];
      if (!node.since || *node.since > now - whole(rules.drain_window)) ++counts.window;
      ++(repair ? counts.repair : counts.standing);
    }
  }
  std::vector<UsedUp> limits;
  for (const auto& [name, counts] : partitions) {
    const auto up = nodes_up_in(name, cluster);
    const auto add = [&, &name = name](std::string_view key, const auto& share, int nodes,
                                       std::size_t count) {
      const auto most = allowance(up, share, nodes);
      if (count >= most) {
        limits.push_back(
            {.partition = name, .limit = std::string(key), .drained = count, .most = most});
      }
    };
    add("most_drained", rules.most_drained, rules.most_drained_nodes, counts.window);
    add("most_standing", rules.most_standing, rules.most_standing_nodes, counts.standing);
    add("most_in_repair", rules.most_in_repair, rules.most_in_repair_nodes, counts.repair);
  }
  return limits;
}

// Refusals that nodes in service have noted in their memory in Slurm.
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

// The last refusal of each node in the history, unless its end or a drain followed.
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
      } else if (shown_drain(node).check.empty()) {
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
    if (was_drained_by_us(node) && !shown_drain(node).check.empty()) {
      status.drained.push_back(drained_node(node, rules, now));
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
