// SPDX-License-Identifier: Apache-2.0
#include "slurm/policy/allowance.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "slurm/policy/breaker.hpp"

namespace muster::slurm {
namespace {

// The other nodes that count, of those that muster drained: for the limit of the window, and for
// all other limits.
struct Others {
  const NodeState& node;
  const std::vector<NodeState>& cluster;
  const Rules& rules;
  NodeFilter of_window, of_all;

  [[nodiscard]] std::size_t count(const std::string& partition, const NodeFilter& counts) const {
    return static_cast<std::size_t>(std::ranges::count_if(cluster, [&](const NodeState& other) {
      return other.name != node.name && is_in(other, partition) && was_drained_by_us(other) &&
             counts(other);
    }));
  }
};

// A sentence about the limit that leaves no room in a partition; empty if there is room.
std::string exceeded(const Others& others, const std::string& partition, const NodeMemory& drain) {
  const auto& rules = others.rules;
  const auto counts = [&](const NodeState& other) {
    return other.name != others.node.name && others.of_all(other);
  };
  if (const auto stopped = stopped_in(partition, drain.check, others.cluster, rules, counts)) {
    return to_string(*stopped, rules);
  }
  const auto up = nodes_up_in(partition, others.cluster);
  const auto most = allowance(up, rules.most_drained, rules.most_drained_nodes);
  if (others.count(partition, others.of_window) >= most) {
    return fmt::format(
        "{0} of {0} nodes that muster may drain in partition {1} within {2} are drained", most,
        partition, to_string(rules.drain_window));
  }
  const bool repair = needs_repair(drain.remedy);
  const auto standing = repair ? allowance(up, rules.most_in_repair, rules.most_in_repair_nodes)
                               : allowance(up, rules.most_standing, rules.most_standing_nodes);
  const auto of_kind = others.count(partition, [&](const NodeState& other) {
    return others.of_all(other) && needs_repair(shown_drain(other).remedy) == repair;
  });
  if (of_kind < standing) return "";
  return fmt::format(
      "{0} of {0} nodes that may be drained {1} at a time in partition {2} are drained", standing,
      repair ? "for repair" : "by muster", partition);
}

std::string exceeded(const Others& others, const NodeMemory& drain) {
  for (const auto& partition : others.node.partitions) {
    if (auto limit = exceeded(others, partition, drain); !limit.empty()) return limit;
  }
  return "";
}

// An unknown time comes before all others.
bool goes_before(const NodeState& other, const NodeState& node) {
  if (other.since == node.since) return other.name < node.name;
  if (!other.since || !node.since) return !other.since;
  const Time& theirs = *other.since;
  const Time& own = *node.since;
  return theirs < own;
}

}  // namespace

std::size_t allowance(std::size_t size, std::string_view share, int nodes, std::size_t fewest) {
  constexpr double kWhole = 100;
  // A percentage such as 0.29 % of 10000 is a little less than 29 in binary.
  constexpr double kRounding = 1e-9;
  const double exact = static_cast<double>(size) * parse_share(share).value_or(0) / kWhole;
  const auto most = std::max(fewest, static_cast<std::size_t>(exact + kRounding));
  return nodes == 0 ? most : std::min(most, static_cast<std::size_t>(nodes));
}

bool is_in(const NodeState& node, std::string_view partition) {
  return std::ranges::find(node.partitions, partition) != node.partitions.end();
}

std::size_t nodes_up_in(std::string_view partition, const std::vector<NodeState>& cluster) {
  return static_cast<std::size_t>(std::ranges::count_if(
      cluster, [&](const NodeState& node) { return is_in(node, partition) && is_up(node); }));
}

std::string used_up_share(const NodeState& node, const std::vector<NodeState>& cluster,
                          const Rules& rules, Time now, const NodeMemory& drain) {
  const auto since = now - whole(rules.drain_window);
  const Others others{
      .node = node,
      .cluster = cluster,
      .rules = rules,
      .of_window = [&](const NodeState& other) { return !other.since || *other.since > since; },
      .of_all = [](const NodeState& /*other*/) { return true; }};
  return exceeded(others, drain);
}

std::string beyond_share(const NodeState& node, const std::vector<NodeState>& cluster,
                         const Rules& rules) {
  const auto is_in_window = [&](const NodeState& other) {
    if (!other.since || !node.since) return true;
    const Time& theirs = *other.since;
    const Time& own = *node.since;
    return theirs > own - whole(rules.drain_window);
  };
  const auto is_before = [&](const NodeState& other) { return goes_before(other, node); };
  const Others others{
      .node = node,
      .cluster = cluster,
      .rules = rules,
      .of_window = [&](const NodeState& other) { return is_before(other) && is_in_window(other); },
      .of_all = is_before};
  return exceeded(others, shown_drain(node));
}

std::string stopped_by(const NodeState& node, const std::vector<NodeState>& cluster,
                       const Rules& rules) {
  const auto check = shown_drain(node).check;
  if (check.empty()) return "";
  for (const auto& partition : node.partitions) {
    // The share covers the node, so that one less were too few to stop the check.
    const auto stopped = stopped_in(partition, check, cluster, rules, [&](const NodeState& other) {
      return other.name == node.name || goes_before(other, node);
    });
    if (stopped) return to_string(*stopped, rules);
  }
  return "";
}

}  // namespace muster::slurm
