// SPDX-License-Identifier: Apache-2.0
// Error counters of a link's physical layer (corrected bits, symbol errors), which only the driver
// of the network interface reports.
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

// Returns the two error counters, by name; empty if the driver has none.
[[nodiscard]] std::map<std::string, std::uint64_t> read_link_errors(const std::string& interface);

// Splits the kernel's fields of 32 bytes into names.
[[nodiscard]] std::vector<std::string> split_names(std::string_view block);

}  // namespace muster
