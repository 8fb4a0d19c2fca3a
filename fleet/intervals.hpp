// SPDX-License-Identifier: Apache-2.0
// The intervals of schema.sql: seats, findings, incidents and uptimes, made from the reports of a
// node.
#pragma once

#include <cstdint>

#include "fleet/sqlite.hpp"
#include "lib/base/result.hpp"

namespace muster::fleet {

// Makes those of all nodes that have new reports, in a transaction for some nodes at a time.
// Returns the number of nodes. If it is killed, the next call continues.
[[nodiscard]] Result<std::uint64_t> renew_intervals(Database& database);

}  // namespace muster::fleet
