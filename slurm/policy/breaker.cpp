// SPDX-License-Identifier: Apache-2.0
#include "slurm/policy/breaker.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "slurm/policy/allowance.hpp"
#include "slurm/policy/own_drain.hpp"

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
    if (node.since) {
      times.push_back(*node.since);
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
    if (check.empty()) continue;
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

std::string to_string(const StoppedCheck& stopped, const Rules& rules) {
  return fmt::format(
      "{0} has drained {1} nodes of partition {2} within {3}, which looks like a bad limit: it "
      "drains no more there until an admin runs muster resume --check {0}",
      stopped.check, stopped.drains, stopped.partition, to_string(rules.drain_window));
}

}  // namespace muster::slurm
