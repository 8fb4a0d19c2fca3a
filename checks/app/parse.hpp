// SPDX-License-Identifier: Apache-2.0
// The command line to a plain struct. Everything that can be wrong with the usage itself is found
// here, before any file is opened.
#pragma once

#include <span>

#include "checks/app/commands.hpp"
#include "lib/base/result.hpp"

namespace muster::app {

// `arguments` without the program's name. An error is bad usage.
[[nodiscard]] Result<Invocation> parse(std::span<const char* const> arguments);

}  // namespace muster::app
