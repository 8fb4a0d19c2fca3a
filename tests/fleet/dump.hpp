// SPDX-License-Identifier: Apache-2.0
// The contents of a store as text, without the ids that depend on the order of imports.
#pragma once

#include <string>

#include "fleet/sqlite.hpp"

namespace muster::fleet {

[[nodiscard]] std::string dump(Database& database);

}  // namespace muster::fleet
