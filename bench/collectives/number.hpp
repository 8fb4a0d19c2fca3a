// SPDX-License-Identifier: Apache-2.0
// Elements as raw bits in the low bytes of a word, and as numbers; arithmetic on vectors of them.
#pragma once

#include <bit>
#include <cstdint>

#include "bench/collectives/operation.hpp"

namespace muster::bench {

struct NumberFormat {
  enum class Kind { floating, signed_integer, unsigned_integer };
  Kind kind = Kind::floating;
  unsigned bits = 0;
  // The bits of a significand including the hidden one, and the exponents of normal numbers; for an
  // integer, its bits without the sign.
  unsigned precision = 0;
  int least_exponent = 0;
  int most_exponent = 0;

  [[nodiscard]] bool is_floating() const { return kind == Kind::floating; }

  [[nodiscard]] unsigned fraction_bits() const { return precision - 1; }

  [[nodiscard]] unsigned exponent_bits() const { return bits - precision; }

  [[nodiscard]] std::uint64_t mask() const { return ~std::uint64_t{0} >> (64 - bits); }

  // All integers up to this one are exact.
  [[nodiscard]] std::uint64_t exact_up_to() const {
    return is_floating() ? std::uint64_t{1} << precision : ~std::uint64_t{0} >> (64 - precision);
  }
};

[[nodiscard]] NumberFormat format_of(Type type);

// Converts a raw element to a number and back, rounded to nearest, ties to even. Integers of 64
// bits lose their last digits.
[[nodiscard]] double value_of(Type type, std::uint64_t bits);
[[nodiscard]] std::uint64_t bits_of(Type type, double number);

// The 16-bit floating-point types, rounded to nearest, ties to even. Without branches, so that
// compilers vectorise loops over them.
[[nodiscard]] inline float from_f16(std::uint16_t bits) {
  const std::uint32_t magnitude = bits & 0x7fffU;
  // 0x1p112 converts the exponent's bias from f16 to f32, and normalises subnormals.
  const auto finite =
      std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude << 13U) * 0x1p112F);
  const std::uint32_t special = magnitude >= 0x7c00U ? 0x7f800000U : 0U;
  return std::bit_cast<float>(finite | special | (bits & 0x8000U) << 16U);
}

[[nodiscard]] inline std::uint16_t to_f16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t magnitude = bits & 0x7fffffffU;
  // Adding 0.5 rounds a number that becomes subnormal at the right bit.
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

// Combines `one` into `both`, element by element. Averages are sums until divide() is called.
using Combine = void (*)(const void* one, void* both, std::uint64_t count);

[[nodiscard]] Combine combine_of(Type type, Reduction reduction);

// Turns sums into averages; integers are rounded towards zero.
void divide(Type type, void* sums, std::uint64_t count, int ranks);

}  // namespace muster::bench
