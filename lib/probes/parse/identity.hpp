// SPDX-License-Identifier: Apache-2.0
// The key-value pool that Hyper-V's daemon keeps for the host's side of the exchange.
#pragma once

#include <string>
#include <string_view>

#include "lib/base/result.hpp"

namespace muster {

// The physical host's name among the records of a pool. Nothing else is taken from it, and nothing
// else of it reaches a message. Missing when the host has not given its name.
[[nodiscard]] Result<std::string> parse_physical_host(std::string_view pool);

}  // namespace muster
