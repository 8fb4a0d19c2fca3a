// SPDX-License-Identifier: Apache-2.0
// Parses the files below /sys/class/infiniband strictly: text that is not in the kernel's format is
// an error and never a plausible number.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "lib/base/result.hpp"

namespace muster {

// "400 Gb/sec (4X NDR)". `speed` is empty for SDR on kernels that print "10 Gb/sec (4X)".
struct LinkRate {
  double gbps = 0;
  unsigned lanes = 0;
  std::string speed;

  bool operator==(const LinkRate&) const = default;
};

[[nodiscard]] Result<LinkRate> parse_link_rate(std::string_view text);

// Returns the number in "4: ACTIVE" or "5: LinkUp".
[[nodiscard]] Result<unsigned> parse_numbered_state(std::string_view text);

// "0x1a0"; LIDs of some fabrics have more than 16 bits.
[[nodiscard]] Result<unsigned> parse_lid(std::string_view text);

// "0x8015", 16 bits.
[[nodiscard]] Result<unsigned> parse_pkey(std::string_view text);

// Eight or four groups of four hex digits, returned in lower case.
[[nodiscard]] Result<std::string> parse_gid(std::string_view text);
[[nodiscard]] Result<std::string> parse_guid(std::string_view text);

}  // namespace muster
