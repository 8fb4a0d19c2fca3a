// SPDX-License-Identifier: Apache-2.0
// What is mounted where.
#pragma once

#include <string_view>

#include "checks/nhc_conf/judging.hpp"

namespace muster::nhc {

// The last mount of a point, which lies on top of the others; null for none.
[[nodiscard]] const Mount* mount_at(const Snapshot& snapshot, std::string_view point);

}  // namespace muster::nhc
