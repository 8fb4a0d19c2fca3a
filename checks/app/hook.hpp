// SPDX-License-Identifier: Apache-2.0
// `muster hook`: what Slurm's prolog, epilog and health check run.
#pragma once

#include <chrono>
#include <string_view>

#include "checks/app/command.hpp"
#include "checks/app/slurm_commands.hpp"

namespace muster::app {

inline constexpr int kHookPassed = 0;
inline constexpr int kHookFailed = 1;

// Before the site's rules are known.
inline constexpr std::chrono::seconds kHookBudget{45};

// Checks the node and does to it what the policy decides. 0 or 1, and never anything else: a node
// is not failed because muster is broken, unless the site says so.
[[nodiscard]] int run_hook(const HookCommand& command, const World& world, Deadline& deadline);

// Of a run that crashed or did not end in time: to syslog and to the history; of a dry run to
// neither.
void tell_of_lost_hook(const HookCommand& command, const World& world, std::string_view message);

}  // namespace muster::app
