// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "bench/collectives/number.hpp"
#include "tests/bench/collectives/every.hpp"

namespace muster::bench {
namespace {

std::vector<std::byte> encoded(Type type, const std::vector<double>& numbers) {
  std::vector<std::byte> bytes(numbers.size() * size_of(type));
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const auto bits = bits_of(type, numbers[i]);
    std::memcpy(bytes.data() + i * size_of(type), &bits, size_of(type));
  }
  return bytes;
}

// 17 elements: full vectors of any width and a remainder.
std::vector<double> numbers_from(double first) {
  std::vector<double> numbers(17);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    numbers[i] = first + static_cast<double>(i * 5 % 7);
  }
  return numbers;
}

TEST(HostArithmeticTest, CombinesEveryType) {
  const auto one = numbers_from(2);
  const auto other = std::vector<double>(one.rbegin(), one.rend());
  for (const auto type : every_type()) {
    for (const auto reduction : every_reduction(type)) {
      std::vector<double> expected;
      for (std::size_t i = 0; i < one.size(); ++i) {
        const double least = std::min(one[i], other[i]);
        const double most = std::max(one[i], other[i]);
        expected.push_back(reduction == Reduction::min   ? least
                           : reduction == Reduction::max ? most
                           : reduction == Reduction::prod
                               ? value_of(type, bits_of(type, one[i] * other[i]))
                               : value_of(type, bits_of(type, one[i] + other[i])));
      }
      auto both = encoded(type, other);
      combine_of(type, reduction)(encoded(type, one).data(), both.data(), one.size());
      EXPECT_EQ(both, encoded(type, expected)) << to_string(type) << " " << to_string(reduction);
    }
  }
}

TEST(HostArithmeticTest, DividesFloatsAndRoundsIntegersDown) {
  const auto sums = numbers_from(1);
  for (const auto type : every_type()) {
    auto numbers = encoded(type, sums);
    divide(type, numbers.data(), sums.size(), 2);
    std::vector<double> expected;
    for (const auto sum : sums) {
      const bool whole = !format_of(type).is_floating();
      expected.push_back(whole ? std::floor(sum / 2) : sum / 2);
    }
    EXPECT_EQ(numbers, encoded(type, expected)) << to_string(type);
  }
}

TEST(HostArithmeticTest, DividesBytesByMoreRanksThanAByteCounts) {
  std::vector<std::uint8_t> sums{0, 1, 255};
  divide(Type::u8, sums.data(), sums.size(), 256);
  EXPECT_EQ(sums, (std::vector<std::uint8_t>{0, 0, 0}));
}

TEST(HostArithmeticTest, WrapsIntegersThatOverflow) {
  const auto factor = std::int64_t{1} << 62;
  std::int64_t product = 2;
  combine_of(Type::i64, Reduction::prod)(&factor, &product, 1);
  EXPECT_EQ(product, std::numeric_limits<std::int64_t>::min());
  const auto addend = std::numeric_limits<std::int32_t>::max();
  std::int32_t sum = 1;
  combine_of(Type::i32, Reduction::sum)(&addend, &sum, 1);
  EXPECT_EQ(sum, std::numeric_limits<std::int32_t>::min());
}

}  // namespace
}  // namespace muster::bench
