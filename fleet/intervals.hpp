// SPDX-License-Identifier: Apache-2.0
// Makes the intervals of schema.sql (seats, findings, incidents and uptimes) from the reports of a
// node.
#pragma once

#include <cstdint>

#include "fleet/sqlite.hpp"
#include "lib/base/result.hpp"

namespace muster::fleet {

// Whether the intervals of a node are out of date: node.touched in schema.sql.
enum class Touched : std::int8_t {
  no,
  anywhere,  // make them from all of its reports
  at_end,    // continue them: all new reports are later than node.last
};

// Makes the intervals of all nodes that have new reports, some nodes per transaction. Returns the
// number of nodes. If it is killed, the next call continues.
[[nodiscard]] Result<std::uint64_t> renew_intervals(Database& database);

}  // namespace muster::fleet
