// SPDX-License-Identifier: Apache-2.0
#include "bench/collectives/host_arithmetic.hpp"

#include "bench/collectives/half.hpp"

namespace muster::bench {
namespace {

// How elements of a type are kept, and as what they are reckoned with.
template <class Number>
struct Plain {
  using Stored = Number;
  using Value = Number;

  static Value load(Stored stored) { return stored; }

  static Stored store(Value value) { return value; }
};

struct F16 {
  using Stored = std::uint16_t;
  using Value = float;

  static Value load(Stored stored) { return from_f16(stored); }

  static Stored store(Value value) { return to_f16(value); }
};

struct Bf16 {
  using Stored = std::uint16_t;
  using Value = float;

  static Value load(Stored stored) { return from_bf16(stored); }

  static Stored store(Value value) { return to_bf16(value); }
};

struct Sum {
  template <class Value>
  Value operator()(Value a, Value b) const {
    return static_cast<Value>(a + b);
  }

  // Signed overflow is undefined, and repeated sums in place do overflow.
  std::int32_t operator()(std::int32_t a, std::int32_t b) const {
    return static_cast<std::int32_t>(static_cast<std::uint32_t>(a) + static_cast<std::uint32_t>(b));
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
    case Reduction::min:
      return combine<Format, Min>;
    case Reduction::max:
      return combine<Format, Max>;
    default:
      return combine<Format, Sum>;
  }
}

template <class Format>
void divide_by(void* sums, std::uint64_t count, int ranks) {
  auto* const numbers = static_cast<typename Format::Stored*>(sums);
  const auto divisor = static_cast<typename Format::Value>(ranks);
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto quotient = Format::load(numbers[i]) / divisor;
    numbers[i] = Format::store(static_cast<typename Format::Value>(quotient));
  }
}

// With more ranks than a byte can count, the divisor is none.
void divide_bytes(void* sums, std::uint64_t count, int ranks) {
  auto* const numbers = static_cast<std::uint8_t*>(sums);
  for (std::uint64_t i = 0; i < count; ++i) {
    numbers[i] = static_cast<std::uint8_t>(numbers[i] / ranks);
  }
}

}  // namespace

Combine combine_of(Type type, Reduction reduction) {
  switch (type) {
    case Type::f32:
      return combine_by<Plain<float>>(reduction);
    case Type::f64:
      return combine_by<Plain<double>>(reduction);
    case Type::f16:
      return combine_by<F16>(reduction);
    case Type::bf16:
      return combine_by<Bf16>(reduction);
    case Type::i32:
      return combine_by<Plain<std::int32_t>>(reduction);
    case Type::u8:
      break;
  }
  return combine_by<Plain<std::uint8_t>>(reduction);
}

void divide(Type type, void* sums, std::uint64_t count, int ranks) {
  switch (type) {
    case Type::f32:
      return divide_by<Plain<float>>(sums, count, ranks);
    case Type::f64:
      return divide_by<Plain<double>>(sums, count, ranks);
    case Type::f16:
      return divide_by<F16>(sums, count, ranks);
    case Type::bf16:
      return divide_by<Bf16>(sums, count, ranks);
    case Type::i32:
      return divide_by<Plain<std::int32_t>>(sums, count, ranks);
    case Type::u8:
      return divide_bytes(sums, count, ranks);
  }
}

}  // namespace muster::bench
