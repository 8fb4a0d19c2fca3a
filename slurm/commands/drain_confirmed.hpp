// SPDX-License-Identifier: Apache-2.0
// Drains the nodes that sweeps have confirmed to be bad, or that a report of `muster-bench locate`
// accuses.
#pragma once

#include <vector>

#include "slurm/drains/enforce.hpp"
#include "slurm/sweeps/sweep_plan.hpp"

namespace muster::app {

// Drains the confirmed nodes by the rules of all drains: the shares, the breaker, and an admin's
// decisions. An admin resumed a node that is in service after a drain for the same failures: it is
// left alone until it fails again. A refused drain is reported, and the next pass tries again.
void drain_confirmed(const std::vector<slurm::SweepStanding>& standings, const slurm::Rules& rules,
                     const slurm::HookServices& services, bool dry_run);

// Drains the nodes that a report of `muster-bench locate` accuses, by the same rules. `names` are
// all nodes of the cluster. Returns whether each accused node is now out of service; in a dry run,
// whether Slurm has it.
[[nodiscard]] bool drain_accused(const Report& report, const std::vector<slurm::NodeName>& names,
                                 const slurm::Rules& rules, const slurm::HookServices& services,
                                 bool dry_run);

}  // namespace muster::app
