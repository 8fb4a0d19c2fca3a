// SPDX-License-Identifier: Apache-2.0
// Slurm's configuration, as slurmctld uses it.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "slurm/cluster/call.hpp"
#include "slurm/cluster/controller.hpp"

namespace muster::slurm {

// The output of `scontrol show config`, by the names of slurm.conf; "(null)" becomes empty.
using Config = std::map<std::string, std::string, std::less<>>;

[[nodiscard]] Config parse_config(std::string_view text);
[[nodiscard]] Result<Config> ask_config(const Installation& installation, const CallLimits& limits);

}  // namespace muster::slurm
