// SPDX-License-Identifier: Apache-2.0
// The words after `muster fleet`: one function each, which returns an exit status.
#pragma once

#include "fleet/fleet_command.hpp"

namespace muster::app {

// add PATH... | --slurm
[[nodiscard]] int run_fleet_add(const FleetCommand& command, const Caller& caller,
                                const FleetTools& tools);

// show
[[nodiscard]] int run_fleet_show(const FleetCommand& command, const Caller& caller);
// part SERIAL|NODE
[[nodiscard]] int run_fleet_part(const FleetCommand& command, const Caller& caller);
// export sql|jsonl
[[nodiscard]] int run_fleet_export(const FleetCommand& command, const Caller& caller);
// prune
[[nodiscard]] int run_fleet_prune(const FleetCommand& command, const Caller& caller);

}  // namespace muster::app
