// SPDX-License-Identifier: Apache-2.0
// Drains by muster as Slurm shows them, in the node's memory and its reason; and the memory that a
// node gets with a drain, after it, and instead of it.
#pragma once

#include <optional>
#include <string>

#include "slurm/policy/node_memory.hpp"
#include "slurm/rules/rules.hpp"

namespace muster::slurm {

// The node's memory if it is about a drain with the reason that the node has now.
[[nodiscard]] std::optional<NodeMemory> memory_of_drain(const NodeState& node);

// The drain that the node shows, from its memory or else from its reason. `check` is empty if an
// admin wrote the reason.
[[nodiscard]] NodeMemory shown_drain(const NodeState& node);

// The drain that is muster's to keep and to resume, even if the node is down or rebooting by now.
// Nothing if somebody else gave the reason.
[[nodiscard]] std::optional<NodeMemory> own_drain(const NodeState& node);

// Whether muster drained the node for a fault and it is still out of service. The reason outlasts
// the state: a node that is down by now, or rebooting, was drained all the same.
[[nodiscard]] bool was_drained_by_us(const NodeState& node);

// Whether it is a new node that is not accepted yet: it has no fault, and counts for no limit.
[[nodiscard]] bool is_kept_out(const NodeState& node);

// Whether a part must be replaced, or the provider repairs it: that may take weeks.
[[nodiscard]] bool needs_repair(Remedy remedy);

// The memory of the node while `drain` is in force with this reason.
[[nodiscard]] std::string memory_while(const NodeState& node, NodeMemory drain,
                                       std::string_view reason, const Rules& rules, Time now);

// The memory after the drain: only the times of the drains that count as flaps, except `without`.
// Empty if there are none.
[[nodiscard]] std::string memory_after(const NodeState& node, const Rules& rules, Time now,
                                       std::optional<Time> without = std::nullopt);

// The memory of a node that is in service although it is sick.
[[nodiscard]] std::string memory_refused(const NodeState& node, const Rules& rules, Time now,
                                         Refusal refused);

}  // namespace muster::slurm
