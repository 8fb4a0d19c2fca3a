// SPDX-License-Identifier: Apache-2.0
// XID 74: an error of an NVLink up to Hopper, read by the registers that the driver writes with it.
#pragma once

#include <string>
#include <string_view>

#include "lib/profile/limits/xid.hpp"

namespace muster::checks::xid {

struct NvlinkFault {
  std::string kind;       // the class
  std::string link;       // its number; empty where the line names none
  std::string context;    // the registers that are not 0, and what they say; may be empty
  bool hardware = false;  // when it comes again and again on this link
};

// A line that does not say whether it is fatal is taken for that.
[[nodiscard]] NvlinkFault decode_registers(const XidLimits& limits, std::string_view text);

}  // namespace muster::checks::xid
