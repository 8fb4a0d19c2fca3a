// SPDX-License-Identifier: Apache-2.0
#include "slurm/allowance.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "slurm/reason.hpp"

namespace muster::slurm {
namespace {

bool is_in(const NodeState& node, const std::string& partition) {
  return std::ranges::find(node.partitions, partition) != node.partitions.end();
}

// The reason outlasts the state: a node that is down by now, or rebooting, was drained all the
// same.
bool was_drained_by_us(const NodeState& node) {
  return is_ours(node.reason) && standing_of(node) != Standing::in_service;
}

// A share of nodes that are powered down would take all that are not.
std::size_t nodes_up_in(const std::string& partition, const std::vector<NodeState>& cluster) {
  return static_cast<std::size_t>(std::ranges::count_if(
      cluster, [&](const NodeState& node) { return is_in(node, partition) && is_up(node); }));
}

}  // namespace

std::size_t allowance(std::size_t size, const Rules& rules) {
  constexpr double kWhole = 100;
  // A percentage such as 0.29 % of 10000 is a little less than 29 in binary.
  constexpr double kRounding = 1e-9;
  const auto percent = std::min(rules.most_drained.value, kWhole);
  const auto share = static_cast<double>(size) * percent / kWhole;
  return std::max<std::size_t>(1, static_cast<std::size_t>(share + kRounding));
}

std::string used_up_share(const NodeState& node,
                          const std::vector<NodeState>& cluster,
                          const Rules& rules,
                          Time now) {
  const auto since = now - whole(rules.drain_window);
  const auto counts = [&](const NodeState& other) {
    return other.name != node.name && was_drained_by_us(other) &&
           (!other.since || *other.since > since);
  };
  for (const auto& partition : node.partitions) {
    const auto used = static_cast<std::size_t>(std::ranges::count_if(
        cluster, [&](const NodeState& other) { return is_in(other, partition) && counts(other); }));
    const auto share = allowance(nodes_up_in(partition, cluster), rules);
    if (used < share) continue;
    return fmt::format("{} of {} nodes that muster may drain in partition {} within {} are drained",
                       used,
                       share,
                       partition,
                       to_string(rules.drain_window));
  }
  return "";
}

// A time that Slurm did not tell comes before all others.
bool within_allowance(const NodeState& node,
                      const std::vector<NodeState>& cluster,
                      const Rules& rules) {
  const auto goes_before = [&](const NodeState& other) {
    if (other.name == node.name || !was_drained_by_us(other)) return false;
    if (other.since == node.since) return other.name < node.name;
    if (!other.since || !node.since) return !other.since;
    const Time& theirs = *other.since;
    const Time& own = *node.since;
    return theirs < own && theirs > own - whole(rules.drain_window);
  };
  return std::ranges::all_of(node.partitions, [&](const std::string& partition) {
    const auto before = std::ranges::count_if(cluster, [&](const NodeState& other) {
      return is_in(other, partition) && goes_before(other);
    });
    return static_cast<std::size_t>(before) < allowance(nodes_up_in(partition, cluster), rules);
  });
}

}  // namespace muster::slurm
