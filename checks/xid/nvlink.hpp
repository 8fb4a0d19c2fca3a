// SPDX-License-Identifier: Apache-2.0
// XIDs 144 to 150: errors of NVLink 5, decided by the unit that reports and the words that follow,
// never by the number alone.
#pragma once

#include <string>
#include <string_view>

#include "lib/profile/limits/xid.hpp"

namespace muster::checks::xid {

struct NvlinkError {
  std::string kind;     // the class
  std::string unit;     // "RLW_REMAP"
  std::string context;  // where to look; may be empty
};

[[nodiscard]] NvlinkError decode_nvlink(const XidLimits& limits, std::string_view text);

}  // namespace muster::checks::xid
