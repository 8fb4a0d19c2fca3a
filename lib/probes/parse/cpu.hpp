// SPDX-License-Identifier: Apache-2.0
// The head of proc/cpuinfo. The whole is megabytes on large machines and repeats itself for every
// CPU, so only the first CPU's block is read.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "lib/base/text.hpp"

namespace muster {

inline constexpr std::size_t kCpuinfoHead = 16UL * 1024;  // a CPU's block is 2 to 4 KiB

// The value of the first line "key : value".
[[nodiscard]] inline std::optional<std::string_view> cpuinfo_field(std::string_view head,
                                                                   std::string_view key) {
  for (const auto line : split_lines(head)) {
    const auto colon = line.find(':');
    if (colon == std::string_view::npos || trim(line.substr(0, colon)) != key) continue;
    return trim(line.substr(colon + 1));
  }
  return std::nullopt;
}

}  // namespace muster
