// SPDX-License-Identifier: Apache-2.0
// The small texts below /sys/class/infiniband, parsed strictly: what is not in the kernel's form is
// an error and never a number that looks plausible.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "lib/base/result.hpp"

namespace muster {

// "400 Gb/sec (4X NDR)". Kernels that print no word for SDR leave `speed` empty: "10 Gb/sec (4X)".
struct LinkRate {
  double gbps = 0;
  unsigned lanes = 0;
  std::string speed;

  bool operator==(const LinkRate&) const = default;
};

[[nodiscard]] Result<LinkRate> parse_link_rate(std::string_view text);

// The number of "4: ACTIVE" or "5: LinkUp"; the word is the kernel's and may be "<unknown>".
[[nodiscard]] Result<unsigned> parse_numbered_state(std::string_view text);

// "0x1a0"; local identifiers of some fabrics have more than 16 bits.
[[nodiscard]] Result<unsigned> parse_lid(std::string_view text);

// "0x8015", 16 bits.
[[nodiscard]] Result<unsigned> parse_pkey(std::string_view text);

// Eight groups of four hex digits, and four of them; both come back in lower case.
[[nodiscard]] Result<std::string> parse_gid(std::string_view text);
[[nodiscard]] Result<std::string> parse_guid(std::string_view text);

}  // namespace muster
