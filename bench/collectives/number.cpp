// SPDX-License-Identifier: Apache-2.0
#include "bench/collectives/number.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <type_traits>

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

// How elements are stored, and in which type they are computed.
template <class Number>
struct Plain {
  using Stored = Number;

  static Number load(Stored stored) { return stored; }

  static Stored store(Number value) { return value; }
};

template <float (*from)(std::uint16_t), std::uint16_t (*to)(float)>
struct Half {
  using Stored = std::uint16_t;

  static float load(Stored stored) { return from(stored); }

  static Stored store(float value) { return to(value); }
};

using F16 = Half<from_f16, to_f16>;
using Bf16 = Half<from_bf16, to_bf16>;

// Adds in software, because no processor adds 8-bit floating-point numbers.
template <Type type>
struct F8 {
  using Stored = std::uint8_t;

  static float load(Stored stored) {
    static const auto values = [] {
      std::array<float, 256> all{};
      for (std::size_t i = 0; i < all.size(); ++i) {
        all.at(i) = static_cast<float>(value_of(type, i));
      }
      return all;
    }();
    return values[stored];
  }

  static Stored store(float value) {
    return static_cast<Stored>(bits_of(type, static_cast<double>(value)));
  }
};

// Repeated sums in place overflow, which is undefined for signed integers.
template <class Value>
using Wrapping = typename std::conditional_t<std::is_integral_v<Value>, std::make_unsigned<Value>,
                                             std::type_identity<Value>>::type;

template <Reduction reduction, class Value>
Value combined(Value a, Value b) {
  if constexpr (reduction == Reduction::min) {
    return a < b ? a : b;
  } else if constexpr (reduction == Reduction::max) {
    return a < b ? b : a;
  } else {
    const auto left = static_cast<Wrapping<Value>>(a);
    const auto right = static_cast<Wrapping<Value>>(b);
    return static_cast<Value>(reduction == Reduction::prod ? left * right : left + right);
  }
}

template <class Format, Reduction reduction>
void combine(const void* one, void* both, std::uint64_t count) {
  const auto* const from = static_cast<const typename Format::Stored*>(one);
  auto* const to = static_cast<typename Format::Stored*>(both);
  for (std::uint64_t i = 0; i < count; ++i) {
    to[i] = Format::store(combined<reduction>(Format::load(from[i]), Format::load(to[i])));
  }
}

template <class Format>
void divide_by(void* sums, std::uint64_t count, int ranks) {
  auto* const numbers = static_cast<typename Format::Stored*>(sums);
  using Value = decltype(Format::load(numbers[0]));
  // Integers may be too narrow for the number of ranks.
  using Wide =
      std::conditional_t<std::is_floating_point_v<Value>, Value,
                         std::conditional_t<std::is_signed_v<Value>, std::int64_t, std::uint64_t>>;
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto sum = static_cast<Wide>(Format::load(numbers[i]));
    numbers[i] = Format::store(static_cast<Value>(sum / static_cast<Wide>(ranks)));
  }
}

struct Arithmetic {
  std::array<Combine, kReductions> combine;
  void (*divide)(void* sums, std::uint64_t count, int ranks);
};

template <class Format>
constexpr Arithmetic kOf{{combine<Format, Reduction::sum>, combine<Format, Reduction::prod>,
                          combine<Format, Reduction::min>, combine<Format, Reduction::max>,
                          combine<Format, Reduction::sum>},  // averages are divided later
                         divide_by<Format>};

const Arithmetic& arithmetic_of(Type type) {
  static constexpr std::array<const Arithmetic*, kTypes> kAll{&kOf<Plain<float>>,
                                                              &kOf<Plain<double>>,
                                                              &kOf<F16>,
                                                              &kOf<Bf16>,
                                                              &kOf<F8<Type::f8e4m3>>,
                                                              &kOf<F8<Type::f8e5m2>>,
                                                              &kOf<Plain<std::int8_t>>,
                                                              &kOf<Plain<std::int32_t>>,
                                                              &kOf<Plain<std::int64_t>>,
                                                              &kOf<Plain<std::uint8_t>>,
                                                              &kOf<Plain<std::uint32_t>>,
                                                              &kOf<Plain<std::uint64_t>>};
  return *kAll.at(static_cast<std::size_t>(type));
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

Combine combine_of(Type type, Reduction reduction) {
  return arithmetic_of(type).combine.at(static_cast<std::size_t>(reduction));
}

void divide(Type type, void* sums, std::uint64_t count, int ranks) {
  arithmetic_of(type).divide(sums, count, ranks);
}

}  // namespace muster::bench
