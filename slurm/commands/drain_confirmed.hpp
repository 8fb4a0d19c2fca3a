// SPDX-License-Identifier: Apache-2.0
// Nodes that sweeps or a search among a job's nodes have confirmed to be bad are drained, where the
// site's rules say so.
#pragma once

#include <vector>

#include "slurm/drains/enforce.hpp"
#include "slurm/sweeps/sweep_standing.hpp"

namespace muster::app {

// Drains the confirmed nodes by the rules of all drains: the shares, the breaker, an admin's word.
// A node that was drained for its failures and is in service again was put there by somebody, and
// is left alone until it fails anew. What cannot be done is told, and tried again by the next pass.
void drain_confirmed(const std::vector<slurm::SweepStanding>& standings, const slurm::Rules& rules,
                     const slurm::HookServices& services, bool dry_run);

// Drains the nodes that a report of `muster-bench locate` accuses, by the same rules; `names` are
// all nodes of Slurm. Returns whether each accused one is out of service now; in a dry run, whether
// Slurm knows it.
[[nodiscard]] bool drain_accused(const Report& report, const std::vector<slurm::NodeName>& names,
                                 const slurm::Rules& rules, const slurm::HookServices& services,
                                 bool dry_run);

}  // namespace muster::app
