// SPDX-License-Identifier: Apache-2.0
// What slurm.conf must say for muster's hooks to be started, and to be let act.
#pragma once

#include <sys/types.h>

#include "slurm/cluster/config.hpp"
#include "slurm/commands/check_setup.hpp"
#include "slurm/rules/rules.hpp"

namespace muster::app {

// `user` is the one that asks, which should be the one that slurmd runs hooks as.
void check_slurm_conf(const slurm::Config& config, const slurm::Rules& rules, ::uid_t user,
                      SetupLines& lines);

}  // namespace muster::app
