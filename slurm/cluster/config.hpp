// SPDX-License-Identifier: Apache-2.0
// Slurm's configuration, as slurmctld has it in force.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "slurm/cluster/call.hpp"
#include "slurm/cluster/controller.hpp"

namespace muster::slurm {

// What `scontrol show config` says, by the names of slurm.conf; "(null)" is an empty text.
using Config = std::map<std::string, std::string, std::less<>>;

[[nodiscard]] Config parse_config(std::string_view text);
[[nodiscard]] Result<Config> ask_config(const Installation& installation, const CallLimits& limits);

}  // namespace muster::slurm
