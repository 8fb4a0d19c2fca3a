// SPDX-License-Identifier: Apache-2.0
#include "bench/node/gemm/numbers.hpp"

#include <cmath>
#include <cstring>
#include <limits>

namespace muster::bench::node {

std::uint64_t varied_number(const NumberType& type, std::uint64_t i) {
  auto random = (i + 1) * 0x9e3779b97f4a7c15U;
  random ^= random >> 29U;
  random *= 0xbf58476d1ce4e5b9U;
  const auto mantissa = (random >> (64U - type.mantissa)) | 1U;
  const auto exponent = static_cast<std::uint64_t>(type.bias - 1) + (random & 1U);
  const auto sign = random >> 1U & 1U;
  return sign << (type.bits - 1) | exponent << type.mantissa | mantissa;
}

double value_of_bits(const NumberType& type, std::uint64_t bits) {
  const auto one = std::uint64_t{1};
  const auto mantissa = bits & ((one << type.mantissa) - 1);
  const auto width = type.bits - 1 - type.mantissa;
  const auto exponent = bits >> type.mantissa & ((one << width) - 1);
  const bool negative = (bits >> (type.bits - 1) & 1U) != 0;
  const bool all_ones = exponent == (one << width) - 1;
  // E4M3 has no infinity, and only one mantissa of the greatest exponent is not a number.
  const bool is_number = !all_ones || (type == kFp8 && mantissa != (one << type.mantissa) - 1);
  if (!is_number) return std::numeric_limits<double>::quiet_NaN();
  const double share = std::ldexp(static_cast<double>(mantissa), -static_cast<int>(type.mantissa));
  const double value = exponent == 0
                           ? std::ldexp(share, 1 - type.bias)
                           : std::ldexp(1 + share, static_cast<int>(exponent) - type.bias);
  return negative ? -value : value;
}

std::vector<unsigned char> varied_numbers(const NumberType& type, std::uint64_t first,
                                          std::uint64_t count) {
  std::vector<unsigned char> bytes(count * type.bytes());
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto number = varied_number(type, first + i);
    std::memcpy(bytes.data() + i * type.bytes(), &number, type.bytes());
  }
  return bytes;
}

}  // namespace muster::bench::node
