// SPDX-License-Identifier: Apache-2.0
#include "bench/collectives/pattern.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <numeric>

#include "bench/collectives/definition.hpp"
#include "bench/collectives/half.hpp"

namespace muster::bench {
namespace {

// The numbers that ranks put in: element i of rank r is (7i + 3r) mod `modulus`, raised by one of
// `bands` steps that depends on i only; and 0 unless `stride` divides i + r, so that few ranks add
// to one element.
struct Mixture {
  std::uint64_t modulus = 1;  // has no divisor in common with 7 and 3
  std::uint64_t bands = 1;
  std::uint64_t stride = 1;
};

// What is only moved: as many ranks as possible can be told apart, by bytes and bf16 as by wider
// types, whose integers are exact further up.
constexpr Mixture kMovedNarrow{.modulus = 251};
constexpr Mixture kMovedWide{.modulus = 2039};
// With many ranks each residue is somewhere; the bands let the extremes differ between elements.
constexpr Mixture kCompared{.modulus = 83, .bands = 3};
// To be added up, the best first.
constexpr std::array kAdded{Mixture{.modulus = 83, .bands = 3},
                            Mixture{.modulus = 11, .bands = 3},
                            Mixture{.modulus = 11},
                            Mixture{.modulus = 10},
                            Mixture{.modulus = 5}};

std::uint64_t unsigned_of(int number) { return static_cast<std::uint64_t>(number); }

std::uint64_t period_of(const Mixture& mixture) {
  return std::lcm(std::lcm(mixture.modulus, mixture.bands), mixture.stride);
}

std::uint64_t number_at(const Mixture& mixture, std::uint64_t element, std::uint64_t rank) {
  if ((element + rank) % mixture.stride != 0) return 0;
  return (7 * element + 3 * rank) % mixture.modulus + mixture.modulus * (element % mixture.bands);
}

std::uint64_t most_terms(const Mixture& mixture, std::uint64_t ranks) {
  return (ranks + mixture.stride - 1) / mixture.stride;
}

std::uint64_t sum_at(const Mixture& mixture, std::uint64_t element, std::uint64_t ranks) {
  const std::uint64_t first = (mixture.stride - element % mixture.stride) % mixture.stride;
  if (first >= ranks) return 0;
  const std::uint64_t terms = (ranks - first - 1) / mixture.stride + 1;
  // The terms repeat after one modulus of them.
  std::uint64_t sum = 0;
  for (std::uint64_t term = 0; term < std::min(terms, mixture.modulus); ++term) {
    const std::uint64_t times = (terms - term - 1) / mixture.modulus + 1;
    sum += times * number_at(mixture, element, first + term * mixture.stride);
  }
  return sum;
}

std::uint64_t extreme_at(const Mixture& mixture,
                         Reduction reduction,
                         std::uint64_t element,
                         std::uint64_t ranks) {
  std::uint64_t extreme = number_at(mixture, element, 0);
  for (std::uint64_t rank = 1; rank < std::min(ranks, mixture.modulus); ++rank) {
    const auto number = number_at(mixture, element, rank);
    extreme = reduction == Reduction::min ? std::min(extreme, number) : std::max(extreme, number);
  }
  return extreme;
}

// Integers up to this one, and so sums of them, are exact.
std::uint64_t exact_up_to(Type type) {
  switch (type) {
    case Type::f32:
      return 1ULL << 24U;
    case Type::f64:
      return 1ULL << 53U;
    case Type::f16:
      return 1ULL << 11U;
    case Type::bf16:
      return 1ULL << 8U;
    case Type::i32:
      return (1ULL << 31U) - 1;
    case Type::u8:
      return 255;
  }
  return 0;
}

// A result that is the same for every element would not show elements in the wrong place.
bool sums_vary(const Mixture& mixture, std::uint64_t ranks) {
  const auto first = sum_at(mixture, 0, ranks);
  for (std::uint64_t element = 1; element < period_of(mixture); ++element) {
    if (sum_at(mixture, element, ranks) != first) return true;
  }
  return false;
}

Mixture mixture_of(const Operation& operation, std::uint64_t ranks) {
  if (!reduces(operation.collective)) {
    return exact_up_to(operation.type) < kMovedWide.modulus ? kMovedNarrow : kMovedWide;
  }
  if (operation.reduction == Reduction::min || operation.reduction == Reduction::max) {
    return kCompared;
  }
  // Odd strides only: libraries cut messages at powers of two, where a period should not end.
  for (std::uint64_t stride = 1;; stride += 2) {
    for (auto mixture : kAdded) {
      mixture.stride = stride;
      const auto largest = (mixture.modulus * mixture.bands - 1) * most_terms(mixture, ranks);
      if (largest <= exact_up_to(operation.type) && sums_vary(mixture, ranks)) return mixture;
    }
  }
}

int mantissa_bits(Type type) {
  switch (type) {
    case Type::f32:
      return 24;
    case Type::f64:
      return 53;
    case Type::f16:
      return 11;
    case Type::bf16:
      return 8;
    default:
      return 0;
  }
}

// How many representable numbers an average may be off. A library may divide the sum, or multiply
// each input by 1/n and add: then 1/n, each product and each addition are rounded, each by half a
// unit in the last place, which makes `terms` + 2 roundings at most and gamma of them in all. Where
// that has no bound, as for 254 terms of bf16, each rounding is allowed two units.
std::uint64_t average_tolerance(Type type, std::uint64_t terms) {
  const auto roundings = static_cast<double>(terms) + 2;
  const double unit = std::ldexp(1.0, -mantissa_bits(type));
  return static_cast<std::uint64_t>(std::ceil(roundings / std::max(0.5, 1 - roundings * unit))) + 1;
}

bool is_integer(Type type) { return type == Type::i32 || type == Type::u8; }

// Adds what the average of numbers with this sum may be.
void add_average(
    Type type, std::uint64_t sum, std::uint64_t ranks, std::uint64_t tolerance, Segment& segment) {
  if (is_integer(type) || sum == 0) {
    const auto quotient = sum / ranks;
    const auto bits = bits_of(type, static_cast<double>(quotient));
    segment.low.push_back(bits);
    segment.high.push_back(bits);
    return;
  }
  const auto bits = bits_of(type, static_cast<double>(sum) / static_cast<double>(ranks));
  segment.low.push_back(bits - std::min(bits, tolerance));
  segment.high.push_back(bits + tolerance);
}

// The whole vector, reduced.
Segment reduced(const Operation& operation, std::uint64_t ranks) {
  const auto mixture = mixture_of(operation, ranks);
  const auto tolerance = average_tolerance(operation.type, most_terms(mixture, ranks));
  Segment segment;
  for (std::uint64_t element = 0; element < period_of(mixture); ++element) {
    if (operation.reduction == Reduction::avg) {
      add_average(operation.type, sum_at(mixture, element, ranks), ranks, tolerance, segment);
      continue;
    }
    const auto number = operation.reduction == Reduction::sum
                            ? sum_at(mixture, element, ranks)
                            : extreme_at(mixture, operation.reduction, element, ranks);
    segment.low.push_back(bits_of(operation.type, static_cast<double>(number)));
  }
  if (operation.reduction != Reduction::avg) segment.high = segment.low;
  return segment;
}

// What `from` put in, from one of its elements on.
Segment moved(const Operation& operation, int from, int ranks, std::uint64_t from_element) {
  auto input = input_of(operation, from, ranks);
  Segment segment{.shift = from_element % input.bits.size(), .low = std::move(input.bits)};
  segment.high = segment.low;
  return segment;
}

}  // namespace

std::uint64_t bits_of(Type type, double number) {
  switch (type) {
    case Type::f32:
      return std::bit_cast<std::uint32_t>(static_cast<float>(number));
    case Type::f64:
      return std::bit_cast<std::uint64_t>(number);
    case Type::f16:
      return to_f16(static_cast<float>(number));
    case Type::bf16:
      return to_bf16(static_cast<float>(number));
    case Type::i32:
      return static_cast<std::uint32_t>(static_cast<std::int32_t>(number));
    case Type::u8:
      return static_cast<std::uint8_t>(number);
  }
  return 0;
}

double value_of(Type type, std::uint64_t bits) {
  switch (type) {
    case Type::f32:
      return static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
    case Type::f64:
      return std::bit_cast<double>(bits);
    case Type::f16:
      return static_cast<double>(from_f16(static_cast<std::uint16_t>(bits)));
    case Type::bf16:
      return static_cast<double>(from_bf16(static_cast<std::uint16_t>(bits)));
    case Type::i32:
      return static_cast<std::int32_t>(static_cast<std::uint32_t>(bits));
    case Type::u8:
      return static_cast<std::uint8_t>(bits);
  }
  return 0;
}

Fill input_of(const Operation& operation, int rank, int ranks) {
  const auto mixture = mixture_of(operation, unsigned_of(ranks));
  Fill fill;
  for (std::uint64_t element = 0; element < period_of(mixture); ++element) {
    const auto number = number_at(mixture, element, unsigned_of(rank));
    fill.bits.push_back(bits_of(operation.type, static_cast<double>(number)));
  }
  return fill;
}

std::vector<Segment> expected_of(const Operation& operation, int rank, int ranks) {
  const auto shape = shape_of(operation, rank, ranks);
  if (shape.receive == 0) return {};
  const auto& received = definition_of(operation.collective).received;
  const auto begin = received.own_part ? unsigned_of(rank) * shape.count : 0;
  std::vector<Segment> segments;
  switch (received.what) {
    case Received::What::reduction:
      segments.push_back(reduced(operation, unsigned_of(ranks)));
      segments.front().shift = begin % segments.front().low.size();
      break;
    case Received::What::one_rank: {
      const int from = received.from({.rank = rank, .ranks = ranks, .root = operation.root});
      segments.push_back(moved(operation, from, ranks, begin));
      break;
    }
    case Received::What::every_rank:
      for (int from = 0; from < ranks; ++from) {
        segments.push_back(moved(operation, from, ranks, begin));
        segments.back().first = unsigned_of(from) * shape.count;
      }
      break;
  }
  for (auto& segment : segments) {
    segment.count = segments.size() == 1 ? shape.receive : shape.count;
  }
  return segments;
}

}  // namespace muster::bench
