// SPDX-License-Identifier: Apache-2.0
// The site's share: how many nodes of a partition muster may take out of service within a time, and
// which nodes those are.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "slurm/cluster/node_state.hpp"
#include "slurm/policy/drain_cause.hpp"
#include "slurm/rules/rules.hpp"

namespace muster::slurm {

// How many nodes `share` is of a partition with `size` nodes that are up: at least one.
[[nodiscard]] std::size_t allowance(std::size_t size, std::string_view share);

[[nodiscard]] bool is_in(const NodeState& node, std::string_view partition);
// The number of the partition's nodes that are up. A share of all its nodes might be as many as
// these, where most are powered down.
[[nodiscard]] std::size_t nodes_up_in(std::string_view partition,
                                      const std::vector<NodeState>& cluster);

// Before a drain for `cause`: which of the node's partitions has no drain left, and by which limit;
// a sentence, empty where each has one.
[[nodiscard]] std::string used_up_share(const NodeState& node,
                                        const std::vector<NodeState>& cluster, const Rules& rules,
                                        Time now, const DrainCause& cause);

// After a drain: the same of the drains that came before this node's, empty where it is among those
// that the site's share covers. Nodes rank by when Slurm wrote their drain, then by name, so that
// all nodes that look agree, one second after their own drain at the earliest: a later drain has a
// later time. In each of the node's partitions.
[[nodiscard]] std::string beyond_share(const NodeState& node, const std::vector<NodeState>& cluster,
                                       const Rules& rules);

// After a drain that the share covers: whether it is the one with which its check is stopped, and
// what to say then; else empty. Of all nodes that were drained at once it is one.
[[nodiscard]] std::string stopped_by(const NodeState& node, const std::vector<NodeState>& cluster,
                                     const Rules& rules);

}  // namespace muster::slurm
