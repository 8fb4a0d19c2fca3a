// SPDX-License-Identifier: Apache-2.0
// The speeds of an InfiniBand lane.
#pragma once

#include <algorithm>
#include <array>
#include <span>
#include <string_view>

namespace muster {

enum class IbLaneSpeed { sdr, ddr, qdr, fdr10, fdr, edr, hdr, ndr, xdr };

struct IbSpeed {
  std::string_view name;
  unsigned verbs = 0;   // libibverbs' number for it
  double lane_bps = 0;  // as the kernel states rates
};

// In the order of the enumeration, ascending.
inline constexpr std::array kIbSpeeds{
    IbSpeed{"SDR", 1, 2.5e9},  IbSpeed{"DDR", 2, 5e9},        IbSpeed{"QDR", 4, 10e9},
    IbSpeed{"FDR10", 8, 10e9}, IbSpeed{"FDR", 16, 14.0625e9}, IbSpeed{"EDR", 32, 25e9},
    IbSpeed{"HDR", 64, 50e9},  IbSpeed{"NDR", 128, 100e9},    IbSpeed{"XDR", 256, 200e9}};

inline constexpr auto kIbSpeedNames = [] {
  std::array<std::string_view, kIbSpeeds.size()> names;
  std::ranges::transform(kIbSpeeds, names.begin(), &IbSpeed::name);
  return names;
}();

constexpr std::span<const std::string_view> words_of(IbLaneSpeed /*of*/) { return kIbSpeedNames; }

// The place in the table of the speed with that name; the table's end, which is after all others,
// where there is none.
[[nodiscard]] constexpr auto ib_speed_named(std::string_view name) {
  return std::ranges::find(kIbSpeeds, name, &IbSpeed::name);
}

}  // namespace muster
