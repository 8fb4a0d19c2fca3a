// SPDX-License-Identifier: Apache-2.0
#include "slurm/policy/allowance.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "slurm/policy/reason.hpp"

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

using Counts = std::function<bool(const NodeState&)>;

// Which limit leaves no room, of the others that muster drained: those of the window, and all.
std::string exceeded(const NodeState& node,
                     const std::vector<NodeState>& cluster,
                     const Rules& rules,
                     const Counts& of_window,
                     const Counts& of_all) {
  for (const auto& partition : node.partitions) {
    const auto up = nodes_up_in(partition, cluster);
    const auto count = [&](const Counts& counts) {
      return static_cast<std::size_t>(std::ranges::count_if(cluster, [&](const NodeState& other) {
        return other.name != node.name && is_in(other, partition) && was_drained_by_us(other) &&
               counts(other);
      }));
    };
    const auto most = allowance(up, rules.most_drained);
    if (count(of_window) >= most) {
      return fmt::format(
          "{0} of {0} nodes that muster may drain in partition {1} within {2} are drained",
          most,
          partition,
          to_string(rules.drain_window));
    }
    const auto standing = allowance(up, rules.most_standing);
    if (count(of_all) >= standing) {
      return fmt::format(
          "{0} of {0} nodes that may stand drained by muster in partition {1} are drained",
          standing,
          partition);
    }
  }
  return "";
}

}  // namespace

std::size_t allowance(std::size_t size, Percent share) {
  constexpr double kWhole = 100;
  // A percentage such as 0.29 % of 10000 is a little less than 29 in binary.
  constexpr double kRounding = 1e-9;
  const auto percent = std::min(share.value, kWhole);
  const auto nodes = static_cast<double>(size) * percent / kWhole;
  return std::max<std::size_t>(1, static_cast<std::size_t>(nodes + kRounding));
}

std::string used_up_share(const NodeState& node,
                          const std::vector<NodeState>& cluster,
                          const Rules& rules,
                          Time now) {
  const auto since = now - whole(rules.drain_window);
  return exceeded(
      node,
      cluster,
      rules,
      [&](const NodeState& other) { return !other.since || *other.since > since; },
      [](const NodeState& /*other*/) { return true; });
}

// A time that Slurm did not tell comes before all others.
std::string beyond_share(const NodeState& node,
                         const std::vector<NodeState>& cluster,
                         const Rules& rules) {
  const auto goes_before = [&](const NodeState& other) {
    if (other.since == node.since) return other.name < node.name;
    if (!other.since || !node.since) return !other.since;
    const Time& theirs = *other.since;
    const Time& own = *node.since;
    return theirs < own;
  };
  const auto is_in_window = [&](const NodeState& other) {
    if (!other.since || !node.since) return true;
    const Time& theirs = *other.since;
    const Time& own = *node.since;
    return theirs > own - whole(rules.drain_window);
  };
  return exceeded(
      node,
      cluster,
      rules,
      [&](const NodeState& other) { return goes_before(other) && is_in_window(other); },
      goes_before);
}

}  // namespace muster::slurm
