// SPDX-License-Identifier: Apache-2.0
// Floating-point numbers of any width as bits, and test data for products.
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

// Returns the bits of number i of a series: its absolute value is from 0.5 to 2, of either sign,
// and it uses all bits of its mantissa.
[[nodiscard]] std::uint64_t varied_number(const NumberType& type, std::uint64_t i);

// Returns NaN for infinity, too.
[[nodiscard]] double value_of_bits(const NumberType& type, std::uint64_t bits);

// Returns the bytes of `count` numbers from `first` on.
[[nodiscard]] std::vector<unsigned char> varied_numbers(const NumberType& type, std::uint64_t first,
                                                        std::uint64_t count);

}  // namespace muster::bench::node
