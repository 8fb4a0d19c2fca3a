// SPDX-License-Identifier: Apache-2.0
#include "bench/collectives/number.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace muster::bench {
namespace {

using Kind = NumberFormat::Kind;

std::uint64_t one(unsigned bit) { return std::uint64_t{1} << bit; }

// Only e4m3 has no infinity: exponents of all ones are normal numbers.
double floating_value(const NumberFormat& format, Type type, std::uint64_t bits) {
  const auto fraction_bits = format.fraction_bits();
  const auto fraction = static_cast<double>(bits & (one(fraction_bits) - 1));
  const auto field = static_cast<int>(bits >> fraction_bits & (one(format.exponent_bits()) - 1));
  const bool last = field == static_cast<int>(one(format.exponent_bits())) - 1;
  const double sign = (bits >> (format.bits - 1) & 1U) != 0 ? -1 : 1;
  const double whole = std::ldexp(1.0, static_cast<int>(fraction_bits));
  if (type == Type::f8e4m3 ? last && fraction == whole - 1 : last && fraction != 0) {
    return std::numeric_limits<double>::quiet_NaN();
  }
  if (last && type != Type::f8e4m3) return sign * std::numeric_limits<double>::infinity();
  const int exponent = std::max(field, 1) + format.least_exponent - 1;
  const double significand = field == 0 ? fraction : fraction + whole;
  return sign * std::ldexp(significand, exponent - static_cast<int>(fraction_bits));
}

std::uint64_t floating_bits(const NumberFormat& format, Type type, double number) {
  const auto fraction_bits = static_cast<int>(format.fraction_bits());
  const std::uint64_t sign = std::signbit(number) ? one(format.bits - 1) : 0;
  const std::uint64_t all_ones = (one(format.exponent_bits()) - 1) << format.fraction_bits();
  const std::uint64_t nan = all_ones | (one(format.fraction_bits()) - 1);
  const double size = std::abs(number);
  if (std::isnan(number)) return sign | nan;
  if (size == 0) return sign;
  int exponent = std::max(format.least_exponent, std::isinf(size) ? 0 : std::ilogb(size));
  double units = std::nearbyint(std::ldexp(size, fraction_bits - exponent));
  if (units >= std::ldexp(1.0, fraction_bits + 1)) {
    ++exponent;
    units /= 2;
  }
  const bool fits = !std::isinf(size) && exponent <= format.most_exponent;
  if (!fits) return sign | (type == Type::f8e4m3 ? nan : all_ones);
  const auto whole = static_cast<std::uint64_t>(units);
  if (whole < one(format.fraction_bits())) return sign | whole;  // subnormal
  const auto field = static_cast<std::uint64_t>(exponent - format.least_exponent + 1);
  return sign | (field << format.fraction_bits() | (whole & (one(format.fraction_bits()) - 1)));
}

}  // namespace

NumberFormat format_of(Type type) {
  constexpr std::array<NumberFormat, kTypes> kFormats{{
      {Kind::floating, 32, 24, -126, 127},    // f32
      {Kind::floating, 64, 53, -1022, 1023},  // f64
      {Kind::floating, 16, 11, -14, 15},      // f16
      {Kind::floating, 16, 8, -126, 127},     // bf16
      {Kind::floating, 8, 4, -6, 8},          // f8e4m3
      {Kind::floating, 8, 3, -14, 15},        // f8e5m2
      {Kind::signed_integer, 8, 7},
      {Kind::signed_integer, 32, 31},
      {Kind::signed_integer, 64, 63},
      {Kind::unsigned_integer, 8, 8},
      {Kind::unsigned_integer, 32, 32},
      {Kind::unsigned_integer, 64, 64},
  }};
  return kFormats.at(static_cast<std::size_t>(type));
}

double value_of(Type type, std::uint64_t bits) {
  const auto format = format_of(type);
  if (format.is_floating()) return floating_value(format, type, bits);
  if (format.kind == Kind::unsigned_integer) return static_cast<double>(bits & format.mask());
  const auto unused = 64 - format.bits;
  return static_cast<double>(static_cast<std::int64_t>(bits << unused) >> unused);
}

std::uint64_t bits_of(Type type, double number) {
  const auto format = format_of(type);
  if (format.is_floating()) return floating_bits(format, type, number);
  if (format.kind == Kind::unsigned_integer) return static_cast<std::uint64_t>(number);
  return static_cast<std::uint64_t>(static_cast<std::int64_t>(number)) & format.mask();
}

}  // namespace muster::bench
