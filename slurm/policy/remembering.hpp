// SPDX-License-Identifier: Apache-2.0
// What a node's drain is, as the node's memory in Slurm or its reason tells it, and the memory that
// a drain is to have.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "slurm/cluster/node_memory.hpp"
#include "slurm/policy/decide.hpp"

namespace muster::slurm {

// The node's memory where it tells of a drain with the reason that the node has now.
[[nodiscard]] std::optional<NodeMemory> memory_of_drain(const NodeState& node);

// The drain that stands in the node's memory. `identity` is of the hardware that is there now.
[[nodiscard]] std::optional<OwnDrain> drain_of_memory(const NodeState& node,
                                                      const std::string& identity);

// Our drain by the reason alone, where the node has no memory: what is not known is as it is now.
// Nothing where an admin wrote the reason.
[[nodiscard]] std::optional<OwnDrain> drain_of_reason(const Situation& situation);

// The node's memory while `drain` stands. What others wrote into the one that it has stays.
[[nodiscard]] std::string memory_while(const Situation& situation, const OwnDrain& drain);

// The node's memory after its drain ended: the times of the drains that count as flaps, but for
// `without`. Empty where there are none.
[[nodiscard]] std::string memory_after(const Situation& situation, std::optional<Time> without);

// The node's memory while it is in service though it is sick.
[[nodiscard]] std::string memory_refused(const Situation& situation, Refusal refused);

// All drains that count as flaps, oldest first, each once.
[[nodiscard]] std::vector<Time> merge_drains(std::vector<Time> some, const std::vector<Time>& more);

}  // namespace muster::slurm
