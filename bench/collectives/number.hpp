// SPDX-License-Identifier: Apache-2.0
// Elements as raw bits in the low bytes of a word, and as numbers.
#pragma once

#include <bit>
#include <cstdint>

#include "bench/collectives/operation.hpp"

namespace muster::bench {

struct NumberFormat {
  enum class Kind { floating, signed_integer, unsigned_integer };
  Kind kind = Kind::floating;
  unsigned bits = 0;
  // The bits of the significand of a floating-point number, the hidden one among them, and the
  // exponents of normal numbers; for an integer, its bits less the sign.
  unsigned precision = 0;
  int least_exponent = 0;
  int most_exponent = 0;

  [[nodiscard]] bool is_floating() const { return kind == Kind::floating; }

  // The bits between the sign and the exponent's end.
  [[nodiscard]] unsigned fraction_bits() const { return precision - 1; }

  [[nodiscard]] unsigned exponent_bits() const { return bits - precision; }

  [[nodiscard]] std::uint64_t mask() const { return ~std::uint64_t{0} >> (64 - bits); }

  // Integers up to this one, and so sums of them, are exact.
  [[nodiscard]] std::uint64_t exact_up_to() const {
    return is_floating() ? std::uint64_t{1} << precision : ~std::uint64_t{0} >> (64 - precision);
  }
};

[[nodiscard]] NumberFormat format_of(Type type);

// A raw element as a number, for messages; and back, rounded to the nearest, ties to even. Integers
// of 64 bits lose their last digits.
[[nodiscard]] double value_of(Type type, std::uint64_t bits);
[[nodiscard]] std::uint64_t bits_of(Type type, double number);

// The two 16-bit floating-point types, rounded to the nearest, ties to even. Written without
// branches, so that compilers turn loops over them into vector code.
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
