// SPDX-License-Identifier: Apache-2.0
// Lines of proc/meminfo ("MemTotal:  263985920 kB") and of a NUMA node's ("Node 0 MemTotal: …").
#pragma once

#include <cstdint>
#include <string_view>

#include "lib/base/result.hpp"

namespace muster {

// The value of `key` in bytes.
[[nodiscard]] Result<std::uint64_t> parse_meminfo(std::string_view text, std::string_view key);

}  // namespace muster
