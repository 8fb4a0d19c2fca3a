// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <type_traits>

#include "bench/collectives/host_algorithms.hpp"
#include "bench/collectives/number.hpp"

namespace muster::bench {
namespace {

// How elements are stored, and in which type they are computed.
template <class Number>
struct Plain {
  using Stored = Number;
  using Value = Number;

  static Value load(Stored stored) { return stored; }

  static Stored store(Value value) { return value; }
};

template <float (*from)(std::uint16_t), std::uint16_t (*to)(float)>
struct Half {
  using Stored = std::uint16_t;
  using Value = float;

  static Value load(Stored stored) { return from(stored); }

  static Stored store(Value value) { return to(value); }
};

using F16 = Half<from_f16, to_f16>;
using Bf16 = Half<from_bf16, to_bf16>;

// In software: no processor adds 8-bit floating-point numbers.
template <Type type>
struct F8 {
  using Stored = std::uint8_t;
  using Value = float;

  static Value load(Stored stored) {
    static const auto values = [] {
      std::array<float, 256> all{};
      for (std::size_t i = 0; i < all.size(); ++i) {
        all.at(i) = static_cast<float>(value_of(type, i));
      }
      return all;
    }();
    return values[stored];
  }

  static Stored store(Value value) {
    return static_cast<Stored>(bits_of(type, static_cast<double>(value)));
  }
};

// Repeated sums in place overflow, which is undefined for signed integers.
template <class Value>
using Wrapping = typename std::conditional_t<std::is_integral_v<Value>, std::make_unsigned<Value>,
                                             std::type_identity<Value>>::type;

// Holds any number of ranks.
template <class Value>
using Wide = std::conditional_t<std::is_signed_v<Value>, std::int64_t, std::uint64_t>;

struct Sum {
  template <class Value>
  Value operator()(Value a, Value b) const {
    return static_cast<Value>(static_cast<Wrapping<Value>>(a) + static_cast<Wrapping<Value>>(b));
  }
};

struct Product {
  template <class Value>
  Value operator()(Value a, Value b) const {
    return static_cast<Value>(static_cast<Wrapping<Value>>(a) * static_cast<Wrapping<Value>>(b));
  }
};

struct Min {
  template <class Value>
  Value operator()(Value a, Value b) const {
    return a < b ? a : b;
  }
};

struct Max {
  template <class Value>
  Value operator()(Value a, Value b) const {
    return a < b ? b : a;
  }
};

template <class Format, class Reduce>
void combine(const void* one, void* both, std::uint64_t count) {
  const auto* const from = static_cast<const typename Format::Stored*>(one);
  auto* const to = static_cast<typename Format::Stored*>(both);
  for (std::uint64_t i = 0; i < count; ++i) {
    to[i] = Format::store(Reduce{}(Format::load(from[i]), Format::load(to[i])));
  }
}

template <class Format>
Combine combine_by(Reduction reduction) {
  switch (reduction) {
    case Reduction::prod:
      return combine<Format, Product>;
    case Reduction::min:
      return combine<Format, Min>;
    case Reduction::max:
      return combine<Format, Max>;
    case Reduction::sum:
    case Reduction::avg:
      break;
  }
  return combine<Format, Sum>;
}

template <class Format>
void divide_by(void* sums, std::uint64_t count, int ranks) {
  using Value = typename Format::Value;
  auto* const numbers = static_cast<typename Format::Stored*>(sums);
  for (std::uint64_t i = 0; i < count; ++i) {
    if constexpr (std::is_integral_v<Value>) {
      const auto quotient = static_cast<Wide<Value>>(numbers[i]) / static_cast<Wide<Value>>(ranks);
      numbers[i] = static_cast<Value>(quotient);
    } else {
      const auto quotient = Format::load(numbers[i]) / static_cast<Value>(ranks);
      numbers[i] = Format::store(static_cast<Value>(quotient));
    }
  }
}

struct Arithmetic {
  Combine (*combine)(Reduction reduction);
  void (*divide)(void* sums, std::uint64_t count, int ranks);
};

template <class Format>
constexpr Arithmetic kOf{combine_by<Format>, divide_by<Format>};

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

Combine combine_of(Type type, Reduction reduction) {
  return arithmetic_of(type).combine(reduction);
}

void divide(Type type, void* sums, std::uint64_t count, int ranks) {
  arithmetic_of(type).divide(sums, count, ranks);
}

}  // namespace muster::bench
