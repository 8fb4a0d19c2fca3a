// SPDX-License-Identifier: Apache-2.0
// The site's limits: how many nodes of a partition muster may take out of service, and which ones.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "slurm/cluster/node_state.hpp"
#include "slurm/policy/own_drain.hpp"
#include "slurm/rules/rules.hpp"

namespace muster::slurm {

// How many nodes of a partition with `size` nodes that are up a limit allows: `share` of them, but
// at least `fewest`, and at most `nodes` (0: any number).
[[nodiscard]] std::size_t allowance(std::size_t size, std::string_view share, int nodes,
                                    std::size_t fewest = 1);

[[nodiscard]] bool is_in(const NodeState& node, std::string_view partition);
// The number of the partition's nodes that are up. If most nodes are powered down, a share of all
// nodes could be all that are up.
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
// empty. Of all nodes that were drained at once it is exactly one.
[[nodiscard]] std::string stopped_by(const NodeState& node, const std::vector<NodeState>& cluster,
                                     const Rules& rules);

}  // namespace muster::slurm
