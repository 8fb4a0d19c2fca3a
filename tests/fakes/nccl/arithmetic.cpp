// SPDX-License-Identifier: Apache-2.0
#include "tests/fakes/nccl/arithmetic.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <type_traits>

#include "bench/backends/nccl/abi.hpp"

namespace muster::fakes::gpu {
namespace {

namespace nccl = bench::nccl;

// Types of 16 bits, by way of float. Values too large become infinite.
struct Half {
  using Word = std::uint16_t;

  static float from(Word word) {
    const auto sign = static_cast<float>((word >> 15U) != 0 ? -1 : 1);
    const int exponent = (word >> 10U) & 0x1f;
    const auto fraction = static_cast<float>(word & 0x3ffU);
    if (exponent == 31) return fraction == 0 ? sign * INFINITY : NAN;
    if (exponent == 0) return sign * std::ldexp(fraction, -24);
    return sign * std::ldexp(1024 + fraction, exponent - 25);
  }

  static Word to(float value) {
    const auto sign = static_cast<unsigned>(std::signbit(value) ? 0x8000 : 0);
    const float size = std::abs(value);
    if (std::isnan(value)) return 0x7fff;
    if (size >= 65520) return static_cast<Word>(sign | 0x7c00U);
    if (size == 0) return static_cast<Word>(sign);
    int exponent = std::max(-14, std::ilogb(size));
    auto fraction = static_cast<unsigned>(std::nearbyint(std::ldexp(size, 10 - exponent)));
    if (fraction < 1024) return static_cast<Word>(sign | fraction);  // denormal
    const auto biased = static_cast<unsigned>(exponent + 15);
    return static_cast<Word>(sign | ((biased << 10U) + (fraction - 1024)));
  }
};

struct Brain {
  using Word = std::uint16_t;

  static float from(Word word) {
    return std::bit_cast<float>(static_cast<std::uint32_t>(word) << 16U);
  }

  static Word to(float value) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    const auto rounding = 0x7fffU + ((bits >> 16U) & 1U);
    return static_cast<Word>((bits + rounding) >> 16U);
  }
};

template <class T>
struct Plain {
  using Word = T;

  static T from(Word word) { return word; }

  static Word to(T value) { return value; }
};

// Types of 8 bits: a sign, an exponent of so many bits, and a fraction. `kLast`: the largest binade
// holds numbers, and only its last one is none.
template <unsigned kExponent, bool kLast>
struct Eight {
  using Word = std::uint8_t;
  static constexpr unsigned kFraction = 7 - kExponent;
  static constexpr int kBias = (1 << (kExponent - 1)) - 1;

  static float from(Word word) {
    const auto sign = static_cast<float>((word >> 7U) != 0 ? -1 : 1);
    const int exponent = (word >> kFraction) & ((1U << kExponent) - 1);
    const int fraction = word & ((1U << kFraction) - 1);
    if (exponent == 0) {
      return sign *
             std::ldexp(static_cast<float>(fraction), 1 - kBias - static_cast<int>(kFraction));
    }
    const auto whole = static_cast<float>(fraction + (1 << kFraction));
    return sign * std::ldexp(whole, exponent - kBias - static_cast<int>(kFraction));
  }

  // The nearest by trying all; a fake may be slow.
  static Word to(float value) {
    constexpr unsigned kFinite = kLast ? 0x7fU : ((1U << kExponent) - 1) << kFraction;
    unsigned nearest = 0;
    float least = INFINITY;
    for (unsigned word = 0; word < kFinite; ++word) {
      const float distance = std::abs(from(static_cast<Word>(word)) - std::abs(value));
      const bool closer = distance < least || (distance == least && word % 2 == 0);
      if (closer) nearest = word;
      least = std::min(least, distance);
    }
    return static_cast<Word>(nearest | (std::signbit(value) ? 0x80U : 0U));
  }
};

// Integers that overflow wrap round.
template <class T>
T combine(int reduction, T left, T right) {
  if (reduction == nccl::kMax) return std::max(left, right);
  if (reduction == nccl::kMin) return std::min(left, right);
  if constexpr (std::is_integral_v<T>) {
    using Whole = std::uint64_t;
    const auto one = static_cast<Whole>(left);
    const auto other = static_cast<Whole>(right);
    return static_cast<T>(reduction == nccl::kProd ? one * other : one + other);
  } else {
    return reduction == nccl::kProd ? left * right : left + right;
  }
}

template <class Type>
void reduce_as(int reduction, std::uint64_t count, const std::vector<const std::byte*>& inputs,
               std::byte* output) {
  using Word = typename Type::Word;
  const auto at = [](const std::byte* input, std::uint64_t i) {
    Word word{};
    std::memcpy(&word, input + i * sizeof word, sizeof word);
    return Type::from(word);
  };
  for (std::uint64_t i = 0; i < count; ++i) {
    auto value = at(inputs.front(), i);
    using Value = decltype(value);
    for (std::size_t rank = 1; rank < inputs.size(); ++rank) {
      value = combine<Value>(reduction, value, at(inputs[rank], i));
    }
    if (reduction == nccl::kAvg) {
      value = static_cast<Value>(value / static_cast<Value>(inputs.size()));
    }
    const Word word = Type::to(value);
    std::memcpy(output + i * sizeof word, &word, sizeof word);
  }
}

}  // namespace

std::size_t width_of(int type) {
  switch (type) {
    case nccl::kInt8:
    case nccl::kUint8:
    case nccl::kFloat8e4m3:
    case nccl::kFloat8e5m2:
      return 1;
    case nccl::kFloat16:
    case nccl::kBfloat16:
      return 2;
    case nccl::kInt32:
    case nccl::kUint32:
    case nccl::kFloat32:
      return 4;
    case nccl::kInt64:
    case nccl::kUint64:
    case nccl::kFloat64:
      return 8;
    default:
      return 0;
  }
}

void reduce(int type, int reduction, std::uint64_t count,
            const std::vector<const std::byte*>& inputs, std::byte* output) {
  using Reduce = void (*)(int, std::uint64_t, const std::vector<const std::byte*>&, std::byte*);
  // In the order of NCCL's numbers.
  constexpr std::array<Reduce, 12> kByType{reduce_as<Plain<std::int8_t>>,
                                           reduce_as<Plain<std::uint8_t>>,
                                           reduce_as<Plain<std::int32_t>>,
                                           reduce_as<Plain<std::uint32_t>>,
                                           reduce_as<Plain<std::int64_t>>,
                                           reduce_as<Plain<std::uint64_t>>,
                                           reduce_as<Half>,
                                           reduce_as<Plain<float>>,
                                           reduce_as<Plain<double>>,
                                           reduce_as<Brain>,
                                           reduce_as<Eight<4, true>>,
                                           reduce_as<Eight<5, false>>};
  kByType.at(static_cast<std::size_t>(type))(reduction, count, inputs, output);
}

}  // namespace muster::fakes::gpu
