// SPDX-License-Identifier: Apache-2.0
// XIDs of NVLinks, which the number alone does not explain: what follows it in the line does.
#pragma once

#include <string>
#include <string_view>

#include "lib/profile/limits/xid.hpp"

namespace muster::checks::xid {

struct NvlinkError {
  std::string kind;       // the class
  std::string unit{};     // of NVLink 5: "RLW_REMAP"
  std::string link{};     // up to Hopper: its number; empty where the line names none
  std::string context{};  // where to look, or the registers that are not 0 and what they say
  bool hardware = false;  // when it comes again and again on this link
};

// XIDs 144 to 150, of NVLink 5: decided by the unit that reports and the words that follow.
[[nodiscard]] NvlinkError decode_nvlink(const XidLimits& limits, std::string_view text);

}  // namespace muster::checks::xid
