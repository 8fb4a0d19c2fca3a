// SPDX-License-Identifier: Apache-2.0
// Floating numbers of any width as their bits, and numbers to multiply.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace muster::bench::node {

struct NumberType {
  unsigned bits = 32;
  unsigned mantissa = 23;
  int bias = 127;

  [[nodiscard]] std::size_t bytes() const { return bits / 8; }

  bool operator==(const NumberType&) const = default;
};

inline constexpr NumberType kFp64{.bits = 64, .mantissa = 52, .bias = 1023};
inline constexpr NumberType kFp32{};
inline constexpr NumberType kBf16{.bits = 16, .mantissa = 7, .bias = 127};
inline constexpr NumberType kFp16{.bits = 16, .mantissa = 10, .bias = 15};
inline constexpr NumberType kFp8{.bits = 8, .mantissa = 3, .bias = 7};  // E4M3

// The bits of number i of a series: from 0.5 up to 2, of either sign, with all bits of its
// mantissa.
[[nodiscard]] std::uint64_t varied_number(const NumberType& type, std::uint64_t i);

// Infinity and NaN, where the type has them, as NaN.
[[nodiscard]] double value_of_bits(const NumberType& type, std::uint64_t bits);

// `count` of them from `first` on, one behind the other.
[[nodiscard]] std::vector<unsigned char> varied_numbers(const NumberType& type, std::uint64_t first,
                                                        std::uint64_t count);

}  // namespace muster::bench::node
