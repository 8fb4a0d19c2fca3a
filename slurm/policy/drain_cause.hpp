// SPDX-License-Identifier: Apache-2.0
// What a node stands drained for, as every node can tell from what Slurm says of it.
#pragma once

#include <string>

#include "lib/report/finding.hpp"
#include "slurm/cluster/node_state.hpp"

namespace muster::slurm {

struct DrainCause {
  std::string check;   // empty where an admin wrote the reason
  std::string device;  // empty for the whole node
  Remedy remedy = Remedy::none;
  bool accepted = false;  // an admin said that it counts for no breaker
};

// The cause of a drain, from the node's memory where it is of the drain that stands, else from the
// reason.
[[nodiscard]] DrainCause cause_of(const NodeState& node);

// Whether muster drained it for a fault and it is still out of service. The reason outlasts the
// state: a node that is down by now, or rebooting, was drained all the same.
[[nodiscard]] bool was_drained_by_us(const NodeState& node);

// Whether it is a new node that was not accepted yet: it counts for no limit, as it has no fault.
[[nodiscard]] bool is_kept_out(const NodeState& node);

// Whether a part must be replaced, or the provider repairs it: that may take weeks.
[[nodiscard]] bool needs_repair(Remedy remedy);

}  // namespace muster::slurm
