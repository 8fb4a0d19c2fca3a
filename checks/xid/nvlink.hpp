// SPDX-License-Identifier: Apache-2.0
// XIDs of NVLinks, whose meaning depends on the rest of the line.
#pragma once

#include <string>
#include <string_view>

#include "lib/profile/limits/gpu.hpp"

namespace muster::checks::xid {

struct NvlinkError {
  std::string kind;       // the class
  std::string unit{};     // of NVLink 5: "RLW_REMAP"
  std::string link{};     // number, up to Hopper; may be empty
  std::string context{};  // where to look, or the registers that are not 0 and their meaning
  bool hardware = false;  // the cause, if this recurs on the link
};

// Decodes XIDs 144 to 150 (NVLink 5) by the reporting unit and its status words.
[[nodiscard]] NvlinkError decode_nvlink(const XidLimits& limits, std::string_view text);

// Decodes XID 74 (up to Hopper) by the registers in the line. Fatal unless the line says otherwise.
[[nodiscard]] NvlinkError decode_registers(const XidLimits& limits, std::string_view text);

}  // namespace muster::checks::xid
