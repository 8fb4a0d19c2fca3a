// SPDX-License-Identifier: Apache-2.0
// The site's limits: how many nodes of a partition muster may take out of service, and which ones.
// One of them is the breaker: if a check drains many nodes within a short time, a bad limit is more
// likely than that many bad nodes. It drains no more until an admin accepts its drains. All of it
// is computed from what Slurm shows, so that all nodes agree and nothing has to be stored.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "slurm/cluster/node_state.hpp"
#include "slurm/policy/node_memory.hpp"
#include "slurm/rules/rules.hpp"

namespace muster::slurm {

// How many nodes of a partition with `size` nodes that are up a limit allows: `share` of them, but
// at least `fewest`, and at most `nodes` (0: any number).
[[nodiscard]] std::size_t allowance(std::size_t size, std::string_view share, int nodes,
                                    std::size_t fewest = 1);

// The drains that take room from most_standing: `standing`, and of those in repair the ones beyond
// their own limit. A node whose fault worsens stays drained beyond it.
[[nodiscard]] std::size_t count_standing(std::size_t standing, std::size_t in_repair,
                                         std::size_t most_in_repair);

[[nodiscard]] bool is_in(const NodeState& node, std::string_view partition);
// The number of the partition's nodes that are up. If most nodes are powered down, a share of all
// nodes could be all nodes that are up.
[[nodiscard]] std::size_t nodes_up_in(std::string_view partition,
                                      const std::vector<NodeState>& cluster);

// Before a drain: a sentence about the limit that leaves no room in one of the node's partitions;
// empty if each has room.
[[nodiscard]] std::string used_up_share(const NodeState& node,
                                        const std::vector<NodeState>& cluster, const Rules& rules,
                                        Time now, const NodeMemory& drain);

// After a drain: the same for the drains that came before this node's; empty if the limits cover
// it. Nodes rank by the time at which Slurm wrote their drain, then by name, so that all nodes that
// look more than a second after their own drain agree: a later drain has a later time.
[[nodiscard]] std::string beyond_share(const NodeState& node, const std::vector<NodeState>& cluster,
                                       const Rules& rules);

// After a drain that the limits cover: a sentence if it is the one that stops its check; else
// empty. If several nodes were drained at once, exactly one of them gets it.
[[nodiscard]] std::string stopped_by(const NodeState& node, const std::vector<NodeState>& cluster,
                                     const Rules& rules);

struct StoppedCheck {
  std::string check, partition;
  std::size_t drains = 0;  // in force, and begun within the window of each other
  std::size_t most = 0;    // the site's limit

  bool operator==(const StoppedCheck&) const = default;
};

using NodeFilter = std::function<bool(const NodeState&)>;

// Whether `check` has drained as many nodes of `partition` as the site allows, of those that
// `counts` selects: not accepted by an admin, and begun within `rules.drain_window` of each other.
// Returns nothing if there are fewer.
[[nodiscard]] std::optional<StoppedCheck> stopped_in(const std::string& partition,
                                                     const std::string& check,
                                                     const std::vector<NodeState>& cluster,
                                                     const Rules& rules, const NodeFilter& counts);

// All checks that are stopped, by partition, then by check.
[[nodiscard]] std::vector<StoppedCheck> stopped_checks(const std::vector<NodeState>& cluster,
                                                       const Rules& rules);

// "host.limits has drained 5 nodes of partition gpu within 1 h, …".
[[nodiscard]] std::string why_stopped(const StoppedCheck& stopped, const Rules& rules);

}  // namespace muster::slurm
