// SPDX-License-Identifier: Apache-2.0
// Errors of a link's physical layer, as the driver of its network interface counts them: bits that
// error correction mended, and symbols that it could not. No file holds them.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/result.hpp"

namespace muster {

inline constexpr std::string_view kCorrectedBits = "rx_corrected_bits_phy";
inline constexpr std::string_view kSymbolErrors = "rx_pcs_symbol_err_phy";

// All statistics of an interface, as `ethtool -S` lists them.
[[nodiscard]] Result<std::map<std::string, std::uint64_t>> read_statistics(
    const std::string& interface);

// The counters that tell of the link, by name; empty where the driver has none.
[[nodiscard]] std::map<std::string, std::uint64_t> read_link_errors(const std::string& interface);

// Splits names that stand one after the other in fields of 32 bytes, as the kernel writes them.
[[nodiscard]] std::vector<std::string> split_names(std::string_view block);

}  // namespace muster
