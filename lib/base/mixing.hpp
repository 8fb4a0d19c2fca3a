// SPDX-License-Identifier: Apache-2.0
// Deterministic pseudo-random numbers.
#pragma once

#include <cstdint>

namespace muster {

// Mixes the bits of a counter (SplitMix64).
[[nodiscard]] constexpr std::uint64_t mixed(std::uint64_t value) {
  value += 0x9e3779b97f4a7c15U;
  value = (value ^ value >> 30U) * 0xbf58476d1ce4e5b9U;
  value = (value ^ value >> 27U) * 0x94d049bb133111ebU;
  return value ^ value >> 31U;
}

// A number from 0 to 1.
[[nodiscard]] constexpr double uniform_at(std::uint64_t counter) {
  constexpr double kUnit = 1.0 / 9007199254740992.0;  // 2^-53
  return static_cast<double>(mixed(counter) >> 11U) * kUnit;
}

}  // namespace muster
