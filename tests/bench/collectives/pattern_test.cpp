// SPDX-License-Identifier: Apache-2.0
#include "bench/collectives/pattern.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

namespace muster::bench {
namespace {

constexpr std::array kTypes{Type::f32, Type::f64, Type::f16, Type::bf16, Type::i32, Type::u8};
constexpr std::array kReductions{Reduction::sum, Reduction::min, Reduction::max, Reduction::avg};
constexpr std::array kRanks{1, 2, 3, 4, 5, 6, 7, 8, 9, 128, 1000};

bool is_float(Type type) { return type != Type::i32 && type != Type::u8; }

// All ranks' inputs, as numbers.
class Inputs {
 public:
  Inputs(const Operation& operation, int ranks) : type_(operation.type) {
    fills_.reserve(static_cast<std::size_t>(ranks));
    for (int rank = 0; rank < ranks; ++rank) fills_.push_back(input_of(operation, rank, ranks));
  }

  [[nodiscard]] double at(int rank, std::uint64_t element) const {
    const auto& fill = fills_[static_cast<std::size_t>(rank)];
    return value_of(type_, fill.bits[(element + fill.shift) % fill.bits.size()]);
  }

  [[nodiscard]] std::uint64_t period() const { return fills_.front().bits.size(); }

  [[nodiscard]] double reduced(Reduction reduction, std::uint64_t element) const {
    std::vector<double> all;
    all.reserve(fills_.size());
    for (int rank = 0; rank < static_cast<int>(fills_.size()); ++rank) {
      all.push_back(at(rank, element));
    }
    if (reduction == Reduction::min) return *std::ranges::min_element(all);
    if (reduction == Reduction::max) return *std::ranges::max_element(all);
    const double sum = std::accumulate(all.begin(), all.end(), 0.0);
    if (reduction == Reduction::sum) return sum;
    const double average = sum / static_cast<double>(all.size());
    return is_float(type_) ? average : std::floor(average);
  }

 private:
  Type type_;
  std::vector<Fill> fills_;
};

// What the collective leaves in one element of the receive buffer, by its definition.
double by_definition(
    const Inputs& inputs, const Operation& operation, int rank, int ranks, std::uint64_t element) {
  const auto count = shape_of(operation, rank, ranks).count;
  const auto part = static_cast<std::uint64_t>(rank) * count;
  switch (operation.collective) {
    case Collective::all_reduce:
    case Collective::reduce:
      return inputs.reduced(operation.reduction, element);
    case Collective::reduce_scatter:
      return inputs.reduced(operation.reduction, part + element);
    case Collective::broadcast:
      return inputs.at(operation.root, element);
    case Collective::scatter:
      return inputs.at(operation.root, part + element);
    case Collective::sendrecv:
      return inputs.at((rank + ranks - 1) % ranks, element);
    case Collective::all_gather:
    case Collective::gather:
      return inputs.at(static_cast<int>(element / count), element % count);
    case Collective::alltoall:
      return inputs.at(static_cast<int>(element / count), part + element % count);
  }
  return -1;
}

void expect_definition(const Operation& operation, int rank, int ranks, const Inputs& inputs) {
  const auto shape = shape_of(operation, rank, ranks);
  std::uint64_t element = 0;
  for (const auto& segment : expected_of(operation, rank, ranks)) {
    ASSERT_EQ(segment.first, element);
    ASSERT_EQ(segment.low.size(), segment.high.size());
    for (std::uint64_t i = 0; i < segment.count; ++i, ++element) {
      // Of thousands of parts, some elements of each; a prime step meets all residues.
      if (shape.receive > 5000 && element % 97 != 0) continue;
      const auto entry = (i + segment.shift) % segment.low.size();
      const auto bits =
          bits_of(operation.type, by_definition(inputs, operation, rank, ranks, element));
      ASSERT_LE(segment.low[entry], bits) << "element " << element;
      ASSERT_GE(segment.high[entry], bits) << "element " << element;
      const bool exact = !reduces(operation.collective) || operation.reduction != Reduction::avg ||
                         !is_float(operation.type);
      ASSERT_EQ(exact ? segment.low[entry] : bits, bits);
    }
  }
  ASSERT_EQ(element, shape.receive);
}

class PatternTest : public ::testing::TestWithParam<int> {};

void expect_definition_of_all_types(Operation operation, int ranks) {
  for (const auto type : kTypes) {
    // Of many ranks, the type that moves the smallest elements stands for all.
    if (ranks > 9 && !reduces(operation.collective) && type != Type::u8) continue;
    operation.type = type;
    // About 60 elements for each rank and part.
    const auto parts = reduces(operation.collective) && ranks > 9 ? 4 : ranks;
    operation.bytes = size_of(type) * 60 * static_cast<std::uint64_t>(parts) + 7;
    const Inputs inputs(operation, ranks);
    for (const int rank : std::set{0, ranks / 2, ranks - 1}) {
      SCOPED_TRACE(::testing::Message()
                   << to_string(operation.collective) << " " << to_string(operation.reduction)
                   << " " << to_string(type) << ", rank " << rank << " of " << ranks);
      ASSERT_NO_FATAL_FAILURE(expect_definition(operation, rank, ranks, inputs));
    }
  }
}

TEST_P(PatternTest, ExpectsWhatMovingCollectivesDoByDefinition) {
  const int ranks = GetParam();
  for (const auto collective : {Collective::all_gather,
                                Collective::broadcast,
                                Collective::alltoall,
                                Collective::sendrecv,
                                Collective::gather,
                                Collective::scatter}) {
    expect_definition_of_all_types({.collective = collective, .root = ranks / 2}, ranks);
  }
}

TEST_P(PatternTest, ExpectsWhatReductionsDoByDefinition) {
  const int ranks = GetParam();
  for (const auto reduction : kReductions) {
    expect_definition_of_all_types(
        {.collective = Collective::reduce_scatter, .reduction = reduction}, ranks);
    if (ranks > 9) continue;
    for (const auto collective : {Collective::all_reduce, Collective::reduce}) {
      expect_definition_of_all_types(
          {.collective = collective, .reduction = reduction, .root = ranks / 2}, ranks);
    }
  }
}

// The largest integer up to which all are representable.
double exact_up_to(Type type) {
  switch (type) {
    case Type::f16:
      return 2048;
    case Type::bf16:
      return 256;
    case Type::u8:
      return 255;
    case Type::f32:
      return 16777216;
    default:
      return 2147483647;
  }
}

TEST_P(PatternTest, AddsUpToExactSumsThatDiffer) {
  const int ranks = GetParam();
  for (const auto type : kTypes) {
    const Operation operation{.type = type};
    const Inputs inputs(operation, ranks);
    std::set<double> sums;
    for (std::uint64_t element = 0; element < inputs.period(); ++element) {
      sums.insert(inputs.reduced(Reduction::sum, element));
    }
    EXPECT_GT(sums.size(), 1) << to_string(type);
    EXPECT_LE(*sums.rbegin(), exact_up_to(type)) << to_string(type);
  }
}

TEST_P(PatternTest, RepeatsAtNoPowerOfTwo) {
  for (const auto type : kTypes) {
    for (const auto collective : {Collective::all_reduce, Collective::all_gather}) {
      auto period = input_of({.collective = collective, .type = type}, 0, GetParam()).bits.size();
      while (period % 2 == 0) period /= 2;
      EXPECT_GE(period, 5);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Ranks, PatternTest, ::testing::ValuesIn(kRanks));

TEST(PatternTest, TellsManyRanksApartInWhatIsMoved) {
  for (const auto type : kTypes) {
    const bool narrow = type == Type::u8 || type == Type::bf16;
    const Inputs inputs({.collective = Collective::all_gather, .type = type}, 1000);
    std::set<double> firsts;
    for (int rank = 0; rank < 1000; ++rank) firsts.insert(inputs.at(rank, 0));
    EXPECT_EQ(firsts.size(), narrow ? 251 : 1000) << to_string(type);
    EXPECT_LE(*firsts.rbegin(), exact_up_to(type)) << to_string(type);
  }
}

TEST(PatternTest, ExpectsNothingWhereNothingIsReceived) {
  EXPECT_TRUE(expected_of({.collective = Collective::reduce, .bytes = 64}, 1, 2).empty());
  EXPECT_TRUE(expected_of({.collective = Collective::gather, .bytes = 64}, 1, 2).empty());
  EXPECT_TRUE(expected_of({.collective = Collective::all_gather, .bytes = 8}, 1, 2).empty());
}

TEST(PatternTest, KeepsSumsExactForManyThousandsOfRanks) {
  for (const int ranks : {22, 256, 257, 4096, 40000}) {
    const auto segments = expected_of({.type = Type::bf16, .bytes = 100000}, 0, ranks);
    const auto& low = segments.front().low;
    EXPECT_NE(std::ranges::min_element(low), std::ranges::max_element(low));
    EXPECT_LE(value_of(Type::bf16, *std::ranges::max_element(low)), 256);
  }
}

// Libraries average in one of these ways.
double divided_sum(const std::vector<double>& numbers, Type type) {
  const auto rounded = [type](double value) { return value_of(type, bits_of(type, value)); };
  double sum = 0;
  for (const auto number : numbers) sum = rounded(sum + number);
  return rounded(sum / static_cast<double>(numbers.size()));
}

double multiplied_sum(const std::vector<double>& numbers, Type type) {
  const auto rounded = [type](double value) { return value_of(type, bits_of(type, value)); };
  const double factor = rounded(1 / static_cast<double>(numbers.size()));
  double sum = 0;
  for (const auto number : numbers) sum = rounded(sum + rounded(number * factor));
  return sum;
}

double sum_multiplied(const std::vector<double>& numbers, Type type) {
  const auto rounded = [type](double value) { return value_of(type, bits_of(type, value)); };
  double sum = 0;
  for (const auto number : numbers) sum = rounded(sum + number);
  return rounded(sum * rounded(1 / static_cast<double>(numbers.size())));
}

TEST_P(PatternTest, AcceptsEveryUsualWayToAverage) {
  const int ranks = GetParam();
  for (const auto type : {Type::f32, Type::f64, Type::f16, Type::bf16}) {
    const Operation operation{.type = type, .reduction = Reduction::avg, .bytes = 8000};
    const Inputs inputs(operation, ranks);
    const auto segment = expected_of(operation, 0, ranks).front();
    for (std::uint64_t element = 0; element < std::min<std::uint64_t>(inputs.period(), 40);
         ++element) {
      std::vector<double> numbers;
      numbers.reserve(static_cast<std::size_t>(ranks));
      for (int rank = 0; rank < ranks; ++rank) numbers.push_back(inputs.at(rank, element));
      for (const auto average : {divided_sum, multiplied_sum, sum_multiplied}) {
        const auto bits = bits_of(type, average(numbers, type));
        EXPECT_LE(segment.low[element], bits) << to_string(type);
        EXPECT_GE(segment.high[element], bits) << to_string(type);
      }
    }
  }
}

TEST(PatternTest, AcceptsAveragesWithinAFewUnitsOfTheLastPlace) {
  // Two ranks: one over two, two products and one addition are rounded.
  const auto segment =
      expected_of({.type = Type::f32, .reduction = Reduction::avg, .bytes = 64}, 0, 2).front();
  for (std::size_t entry = 0; entry < segment.low.size(); ++entry) {
    EXPECT_LE(segment.high[entry] - segment.low[entry], 12);
  }
}

}  // namespace
}  // namespace muster::bench
