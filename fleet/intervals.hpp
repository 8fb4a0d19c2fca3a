// SPDX-License-Identifier: Apache-2.0
// The intervals of schema.sql: seats, findings, incidents and uptimes, made from the reports of a
// node.
#pragma once

#include <cstdint>

#include "fleet/sqlite.hpp"
#include "lib/base/result.hpp"

namespace muster::fleet {

// Whether the intervals of a node are out of date: node.touched of schema.sql.
enum class Touched : std::int8_t {
  no,
  anywhere,  // they are made from all of its reports
  at_end,    // by reports that are later than node.last
};

// Makes those of all nodes that have new reports, in a transaction for some nodes at a time.
// Returns the number of nodes. If it is killed, the next call continues.
[[nodiscard]] Result<std::uint64_t> renew_intervals(Database& database);

}  // namespace muster::fleet
