// SPDX-License-Identifier: Apache-2.0
// XID 74, of NVLinks up to Hopper.
#pragma once

#include <string_view>

#include "checks/xid/nvlink.hpp"
#include "lib/profile/limits/xid.hpp"

namespace muster::checks::xid {

// Decides by the registers that the driver writes with the XID. A line that does not say whether it
// is fatal is taken for that.
[[nodiscard]] NvlinkError decode_registers(const XidLimits& limits, std::string_view text);

}  // namespace muster::checks::xid
