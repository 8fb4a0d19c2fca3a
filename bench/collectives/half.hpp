// SPDX-License-Identifier: Apache-2.0
// The two 16-bit floating-point types as raw bits, rounded to the nearest, ties to even. Written
// without branches, so that compilers turn loops over them into vector code.
#pragma once

#include <bit>
#include <cstdint>

namespace muster::bench {

[[nodiscard]] inline float from_f16(std::uint16_t bits) {
  const std::uint32_t magnitude = bits & 0x7fffU;
  // 0x1p112 moves the exponent from the bias of f16 to that of f32, and makes normal what is not.
  const auto finite =
      std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude << 13U) * 0x1p112F);
  const std::uint32_t special = magnitude >= 0x7c00U ? 0x7f800000U : 0U;
  return std::bit_cast<float>(finite | special | (bits & 0x8000U) << 16U);
}

[[nodiscard]] inline std::uint16_t to_f16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t magnitude = bits & 0x7fffffffU;
  // Half the smallest normal number of f32's exponent 14 below: adding it rounds what will be
  // subnormal at the right bit.
  constexpr std::uint32_t kHalf = 126U << 23U;
  const std::uint32_t small =
      std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) + 0.5F) - kHalf;
  const std::uint32_t normal =
      (magnitude + 0xfffU + (magnitude >> 13U & 1U) - (112U << 23U)) >> 13U;
  const std::uint32_t finite = magnitude < (113U << 23U) ? small : normal;
  const std::uint32_t special = magnitude > 0x7f800000U ? 0x7e00U : 0x7c00U;
  const std::uint32_t rounded = magnitude >= 0x477ff000U ? special : finite;
  return static_cast<std::uint16_t>(rounded | (bits >> 16U & 0x8000U));
}

[[nodiscard]] inline float from_bf16(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16U);
}

[[nodiscard]] inline std::uint16_t to_bf16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t rounded = (bits + 0x7fffU + (bits >> 16U & 1U)) >> 16U;
  const std::uint32_t quiet = bits >> 16U | 0x40U;
  return static_cast<std::uint16_t>((bits & 0x7fffffffU) > 0x7f800000U ? quiet : rounded);
}

}  // namespace muster::bench
