// SPDX-License-Identifier: Apache-2.0
// Elements as raw bits in the low bytes of a word, and as numbers.
#pragma once

#include <cstdint>

#include "bench/collectives/operation.hpp"

namespace muster::bench {

struct NumberFormat {
  enum class Kind { floating, signed_integer, unsigned_integer };
  Kind kind = Kind::floating;
  unsigned bits = 0;
  // Of a floating-point number: the bits of its significand, the hidden one among them, and the
  // exponents of normal numbers. Of an integer: its bits less the sign.
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

}  // namespace muster::bench
