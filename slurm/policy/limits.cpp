// SPDX-License-Identifier: Apache-2.0

#include "slurm/policy/limits.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "slurm/policy/node_memory.hpp"

namespace muster::slurm {
namespace {

// The most nodes that began within the window of each other.
std::size_t drains_at_once(std::string_view check, std::string_view partition,
                           const std::vector<NodeState>& nodes, const Rules& rules,
                           const NodeFilter& counts) {
  std::vector<Time> times;
  std::size_t undated = 0;  // their time is unknown, so they always count
  for (const auto& node : nodes) {
    if (!was_drained_by_us(node) || !is_in(node, partition) || !counts(node)) continue;
    const auto drain = shown_drain(node);
    if (drain.check != check || drain.accepted) continue;
    if (const auto since = drained_since(node)) {
      times.push_back(*since);
    } else {
      ++undated;
    }
  }
  std::ranges::sort(times);
  std::size_t most = 0;
  auto first = times.begin();
  for (auto last = times.begin(); last != times.end(); ++last) {
    while (first != last && *first <= *last - whole(rules.drain_window)) ++first;
    most = std::max(most, static_cast<std::size_t>(last - first) + 1);
  }
  return most + undated;
}

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
    return why_stopped(*stopped, rules);
  }
  const auto up = nodes_up_in(partition, others.cluster);
  const auto most = allowance(up, rules.most_drained, rules.most_drained_nodes);
  if (others.count(partition, others.of_window) >= most) {
    return fmt::format(
        "{0} of {0} nodes that muster may drain in partition {1} within {2} are drained", most,
        partition, to_string(rules.drain_window));
  }
  const auto in_repair = others.count(partition, [&](const NodeState& other) {
    return others.of_all(other) && needs_repair(shown_drain(other).remedy);
  });
  const auto standing = others.count(partition, others.of_all) - in_repair;
  const auto most_in_repair = allowance(up, rules.most_in_repair, rules.most_in_repair_nodes);
  const bool repair = needs_repair(drain.remedy);
  const auto allowed =
      repair ? most_in_repair : allowance(up, rules.most_standing, rules.most_standing_nodes);
  if ((repair ? in_repair : count_standing(standing, in_repair, most_in_repair)) < allowed) {
    return "";
  }
  return fmt::format(
      "{0} of {0} nodes that may be drained {1} at a time in partition {2} are drained", allowed,
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
  const auto theirs = drained_since(other);
  const auto own = drained_since(node);
  if (theirs == own) return other.name < node.name;
  if (!theirs || !own) return !theirs;
  return *theirs < *own;
}

}  // namespace

std::optional<StoppedCheck> stopped_in(const std::string& partition, const std::string& check,
                                       const std::vector<NodeState>& cluster, const Rules& rules,
                                       const NodeFilter& counts) {
  // In a small partition one or two drains do not mean a bad limit.
  constexpr std::size_t kFewest = 3;
  const auto most = allowance(nodes_up_in(partition, cluster), rules.most_by_check,
                              rules.most_by_check_nodes, kFewest);
  const auto drains = drains_at_once(check, partition, cluster, rules, counts);
  if (drains < most) return std::nullopt;
  return StoppedCheck{.check = check, .partition = partition, .drains = drains, .most = most};
}

std::vector<StoppedCheck> stopped_checks(const std::vector<NodeState>& cluster,
                                         const Rules& rules) {
  std::map<std::string, std::set<std::string>> checks;  // that drained, by partition
  for (const auto& node : cluster) {
    if (!was_drained_by_us(node)) continue;
    const auto check = shown_drain(node).check;
    for (const auto& partition : node.partitions) checks[partition].insert(check);
  }
  std::vector<StoppedCheck> stopped;
  for (const auto& [partition, names] : checks) {
    for (const auto& check : names) {
      const auto any = [](const NodeState& /*node*/) { return true; };
      if (auto found = stopped_in(partition, check, cluster, rules, any)) {
        stopped.push_back(*std::move(found));
      }
    }
  }
  return stopped;
}

std::string why_stopped(const StoppedCheck& stopped, const Rules& rules) {
  return fmt::format(
      "{0} has drained {1} nodes of partition {2} within {3}, which looks like a bad limit: it "
      "drains no more there until an admin runs muster resume --check {0}",
      stopped.check, stopped.drains, stopped.partition, to_string(rules.drain_window));
}

std::size_t allowance(std::size_t size, std::string_view share, int nodes, std::size_t fewest) {
  constexpr double kWhole = 100;
  // A percentage such as 0.29 % of 10000 is a little less than 29 in binary.
  constexpr double kRounding = 1e-9;
  const double exact = static_cast<double>(size) * parse_share(share).value_or(0) / kWhole;
  const auto most = std::max(fewest, static_cast<std::size_t>(exact + kRounding));
  return nodes == 0 ? most : std::min(most, static_cast<std::size_t>(nodes));
}

std::size_t count_standing(std::size_t standing, std::size_t in_repair,
                           std::size_t most_in_repair) {
  return standing + std::max(in_repair, most_in_repair) - most_in_repair;
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
  const Others others{.node = node,
                      .cluster = cluster,
                      .rules = rules,
                      .of_window =
                          [&](const NodeState& other) {
                            const auto theirs = drained_since(other);
                            return !theirs || *theirs > since;
                          },
                      .of_all = [](const NodeState& /*other*/) { return true; }};
  return exceeded(others, drain);
}

std::string beyond_share(const NodeState& node, const std::vector<NodeState>& cluster,
                         const Rules& rules) {
  const auto is_in_window = [&](const NodeState& other) {
    const auto theirs = drained_since(other);
    const auto own = drained_since(node);
    return !theirs || !own || *theirs > *own - whole(rules.drain_window);
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
    // The limit covers this node, so without it there were too few drains to stop the check.
    const auto stopped = stopped_in(partition, check, cluster, rules, [&](const NodeState& other) {
      return other.name == node.name || goes_before(other, node);
    });
    if (stopped) return why_stopped(*stopped, rules);
  }
  return "";
}

}  // namespace muster::slurm
