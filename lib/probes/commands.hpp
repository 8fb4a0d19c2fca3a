// SPDX-License-Identifier: Apache-2.0
// Commands that lines of NHC's configuration name, run where the site allows them: without a shell,
// side by side, each with its own deadline.
#pragma once

#include <vector>

#include "lib/base/clock.hpp"
#include "lib/node/environment.hpp"
#include "lib/probes/probes.hpp"

namespace muster {

// One fact for each command, in order. What may not be run has a status that is absent, and what
// could not be run, or did not end before `deadline`, one that is unreadable. Below a foreign root
// nothing is run.
[[nodiscard]] std::vector<CommandFact> run_commands(const Root& root,
                                                    const WantedCommands& wanted,
                                                    Clock::time_point deadline);

}  // namespace muster
