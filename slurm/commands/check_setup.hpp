// SPDX-License-Identifier: Apache-2.0
// `muster hook --check-setup`: whether all that a hook will need is there.
#pragma once

#include "slurm/commands/hook.hpp"

namespace muster::app {

inline constexpr std::chrono::seconds kCheckSetupBudget{60};

// Asks everything with the environment that slurmd gives a hook, changes nothing, and prints a line
// for each. 0; 2 where Slurm could not be asked; 78 where something must be mended.
[[nodiscard]] int run_check_setup(const HookCommand& command,
                                  const Caller& caller,
                                  Deadline& deadline,
                                  const CheckNode& check_node);

}  // namespace muster::app
