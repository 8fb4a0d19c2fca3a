// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <numeric>
#include <set>

#include "bench/collectives/number.hpp"
#include "bench/collectives/pattern.hpp"
#include "tests/bench/collectives/every.hpp"

namespace muster::bench {
namespace {

constexpr std::array<std::uint64_t, 11> kNumbersOfRanks{1, 2, 3, 4, 5, 6, 7, 8, 9, 128, 1000};

// Reduces all inputs on the host, with the ranks in this order.
std::uint64_t reduced(const Inputs& inputs, const Operation& operation, std::uint64_t element,
                      const std::vector<std::uint64_t>& order) {
  const auto combine = combine_of(operation.type, operation.reduction);
  auto both = inputs.input(element, order.front());
  for (std::size_t i = 1; i < order.size(); ++i) {
    const auto one = inputs.input(element, order[i]);
    combine(&one, &both, 1);
  }
  if (operation.reduction == Reduction::avg) {
    divide(operation.type, &both, 1, static_cast<int>(order.size()));
  }
  return both & format_of(operation.type).mask();
}

class InputsTest : public ::testing::TestWithParam<std::uint64_t> {};

TEST_P(InputsTest, AreRightInAnyOrder) {
  std::vector<std::uint64_t> forward(GetParam());
  std::iota(forward.begin(), forward.end(), 0);
  const std::vector<std::uint64_t> backward(forward.rbegin(), forward.rend());
  for (const auto type : every_type()) {
    for (const auto reduction : every_reduction(type)) {
      const Operation operation{.type = type, .reduction = reduction};
      const auto inputs = inputs_of(operation, GetParam());
      // With many ranks, test some elements. A prime step covers all kinds.
      const std::uint64_t step = GetParam() > 9 ? 97 : 1;
      for (std::uint64_t element = 0; element < inputs->period(); element += step) {
        const auto [low, high] = inputs->result(element);
        for (const auto& order : {forward, backward}) {
          const auto got = reduced(*inputs, operation, element, order);
          ASSERT_TRUE(low <= got && got <= high)
              << to_string(type) << " " << to_string(reduction) << " element " << element << ": "
              << value_of(type, got) << " not in " << value_of(type, low) << " to "
              << value_of(type, high);
        }
      }
    }
  }
}

TEST_P(InputsTest, DependOnEveryRank) {
  for (const auto type : every_type()) {
    for (const auto reduction : {Reduction::sum, Reduction::prod}) {
      const auto inputs = inputs_of({.type = type, .reduction = reduction}, GetParam());
      const auto neutral = bits_of(type, reduction == Reduction::prod ? 1.0 : 0.0);
      for (std::uint64_t rank = 0; rank < GetParam(); ++rank) {
        bool changes = false;
        for (std::uint64_t element = 0; element < inputs->period() && !changes; ++element) {
          changes = inputs->input(element, rank) != neutral;
        }
        ASSERT_TRUE(changes) << to_string(type) << " " << to_string(reduction) << " " << rank;
      }
    }
  }
}

TEST_P(InputsTest, HaveOddPeriods) {
  for (const auto type : every_type()) {
    for (const auto collective : {Collective::all_reduce, Collective::all_gather}) {
      const auto period = inputs_of({.collective = collective, .type = type}, GetParam())->period();
      EXPECT_EQ(period % 2, 1U);
      EXPECT_GE(period, 509U);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Ranks, InputsTest, ::testing::ValuesIn(kNumbersOfRanks));

// The bits that are 0 in some element, and those that are 1 in some element.
struct Bits {
  std::uint64_t ones = 0, zeros = 0;
};

Bits bits_of_inputs(const Operation& operation) {
  const auto inputs = inputs_of(operation, 2);
  Bits bits;
  for (std::uint64_t element = 0; element < inputs->period(); ++element) {
    bits.ones |= inputs->input(element, 0);
    bits.zeros |= ~inputs->input(element, 0);
  }
  return bits;
}

// So that any stuck bit is detected.
TEST(InputsTest, SetAndClearEveryBit) {
  for (const auto type : every_type()) {
    const auto format = format_of(type);
    for (const auto collective : {Collective::all_gather, Collective::all_reduce}) {
      const auto [ones, zeros] = bits_of_inputs({.collective = collective, .type = type});
      // Integers do not overflow in sums, so that one bit stays unset.
      const bool short_of_one = collective == Collective::all_reduce &&
                                format.kind == NumberFormat::Kind::unsigned_integer;
      const auto all = short_of_one ? format.mask() >> 1U : format.mask();
      EXPECT_EQ(ones & all, all) << to_string(type) << " " << to_string(collective);
      EXPECT_EQ(zeros & all, all) << to_string(type) << " " << to_string(collective);
    }
  }
}

TEST(InputsTest, NeverEqualThePoisonIfMoved) {
  for (const auto type : every_type()) {
    const auto inputs = inputs_of({.collective = Collective::all_gather, .type = type}, 8);
    for (std::uint64_t element = 0; element < inputs->period(); ++element) {
      EXPECT_NE(inputs->input(element, 3), format_of(type).mask());
      EXPECT_FALSE(std::isnan(value_of(type, inputs->input(element, 3))));
    }
  }
}

TEST(InputsTest, DifferBetweenRanksIfMoved) {
  const auto inputs = inputs_of({.collective = Collective::all_gather, .type = Type::f32}, 1000);
  std::set<std::uint64_t> firsts;
  for (std::uint64_t rank = 0; rank < 1000; ++rank) firsts.insert(inputs->input(0, rank));
  EXPECT_EQ(firsts.size(), 1000U);
}

// The share of flipped bits that are detected, over all elements and bits of a result.
double caught(const Operation& operation, std::uint64_t ranks) {
  const auto inputs = inputs_of(operation, ranks);
  const auto format = format_of(operation.type);
  std::uint64_t seen = 0;
  std::uint64_t all = 0;
  for (std::uint64_t element = 0; element < inputs->period(); ++element) {
    const auto [low, high] = inputs->result(element);
    const auto right = low + (high - low) / 2;
    for (unsigned bit = 0; bit < format.bits; ++bit, ++all) {
      const auto turned = right ^ std::uint64_t{1} << bit;
      seen += turned < low || turned > high ? 1 : 0;
    }
  }
  return static_cast<double>(seen) / static_cast<double>(all);
}

// The table under "Verification" in docs/benchmark.md.
TEST(InputsTest, DetectsEveryFlippedBit) {
  for (const auto type : every_type()) {
    for (const auto reduction : every_reduction(type)) {
      const bool exact = !format_of(type).is_floating() || reduction == Reduction::min ||
                         reduction == Reduction::max;
      for (const std::uint64_t ranks : {2U, 16U, 1000U}) {
        const auto share = caught({.type = type, .reduction = reduction}, ranks);
        if (exact) {
          EXPECT_EQ(share, 1) << to_string(type) << " " << to_string(reduction);
        }
        // Averages are rounded several times by each library in its own way.
        const double least = reduction == Reduction::avg ? 0.4 : 0.8;
        EXPECT_GE(share, least) << to_string(type) << " " << to_string(reduction) << " " << ranks;
        RecordProperty(fmt::format("{}_{}_{}", to_string(type), to_string(reduction), ranks),
                       fmt::format("{:.3f}", share));
      }
    }
  }
}

// Libraries compute averages in one of these ways.
using Numbers = std::vector<double>;

double rounded(Type type, double value) { return value_of(type, bits_of(type, value)); }

double divided_sum(const Numbers& numbers, Type type) {
  double sum = 0;
  for (const auto number : numbers) sum = rounded(type, sum + number);
  return rounded(type, sum / static_cast<double>(numbers.size()));
}

double multiplied_sum(const Numbers& numbers, Type type) {
  const double factor = rounded(type, 1 / static_cast<double>(numbers.size()));
  double sum = 0;
  for (const auto number : numbers) sum = rounded(type, sum + rounded(type, number * factor));
  return sum;
}

double sum_multiplied(const Numbers& numbers, Type type) {
  double sum = 0;
  for (const auto number : numbers) sum = rounded(type, sum + number);
  return rounded(type, sum * rounded(type, 1 / static_cast<double>(numbers.size())));
}

TEST_P(InputsTest, AcceptEveryUsualAverage) {
  for (const auto type : {Type::f32, Type::f64, Type::f16, Type::bf16}) {
    const auto inputs = inputs_of({.type = type, .reduction = Reduction::avg}, GetParam());
    for (std::uint64_t element = 0; element < 60; ++element) {
      Numbers numbers;
      for (std::uint64_t rank = 0; rank < GetParam(); ++rank) {
        numbers.push_back(value_of(type, inputs->input(element, rank)));
      }
      const auto [low, high] = inputs->result(element);
      for (const auto average : {divided_sum, multiplied_sum, sum_multiplied}) {
        const auto bits = bits_of(type, average(numbers, type));
        EXPECT_LE(low, bits) << to_string(type) << " element " << element;
        EXPECT_GE(high, bits) << to_string(type) << " element " << element;
      }
    }
  }
}

}  // namespace
}  // namespace muster::bench
