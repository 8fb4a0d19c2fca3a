// SPDX-License-Identifier: Apache-2.0
// What the row of one of NHC's checks says of a snapshot.
#pragma once

#include <string_view>

#include "checks/nhc_conf/table.hpp"

namespace muster::nhc {

inline Findings judge_as(std::string_view check, const Snapshot& snapshot,
                         const Arguments& arguments) {
  return row_named(check)->judge(snapshot, arguments);
}

}  // namespace muster::nhc
