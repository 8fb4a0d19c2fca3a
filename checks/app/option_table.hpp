// SPDX-License-Identifier: Apache-2.0
// The options of each command, and the texts about them.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "checks/app/commands.hpp"
#include "lib/command/options.hpp"

namespace muster::app {

template <class Command>
[[nodiscard]] std::span<const Option<Command>> options_of();

// All commands, in the order of the help text.
[[nodiscard]] std::vector<CommandText> command_texts();

[[nodiscard]] std::string overview_help();

}  // namespace muster::app
