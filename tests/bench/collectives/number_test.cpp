// SPDX-License-Identifier: Apache-2.0
#include "bench/collectives/number.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "tests/bench/collectives/every.hpp"
#include "tests/fakes/numbers.hpp"

namespace muster::bench {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr float kFloatInfinity = std::numeric_limits<float>::infinity();

TEST(NumberTest, Has8BitValues) {
  EXPECT_EQ(value_of(Type::f8e4m3, 0x38), 1);
  EXPECT_EQ(value_of(Type::f8e4m3, 0x7e), 448);
  EXPECT_EQ(value_of(Type::f8e4m3, 0xfe), -448);
  EXPECT_EQ(value_of(Type::f8e4m3, 0x08), 0x1p-6);
  EXPECT_EQ(value_of(Type::f8e4m3, 0x01), 0x1p-9);
  EXPECT_TRUE(std::isnan(value_of(Type::f8e4m3, 0x7f)));
  EXPECT_EQ(value_of(Type::f8e5m2, 0x3c), 1);
  EXPECT_EQ(value_of(Type::f8e5m2, 0x7b), 57344);
  EXPECT_EQ(value_of(Type::f8e5m2, 0x01), 0x1p-16);
  EXPECT_EQ(value_of(Type::f8e5m2, 0xfc), -kInfinity);
  EXPECT_TRUE(std::isnan(value_of(Type::f8e5m2, 0x7d)));
}

// Every number, those in the middle of two, and their neighbours, against the definition of the
// format.
struct FormatCase {
  std::string name;
  const fakes::SmallFormat& format;
  unsigned bits;
  std::function<double(std::uint64_t)> value;
  std::function<std::uint64_t(double)> code;
};

class SmallNumberTest : public ::testing::TestWithParam<FormatCase> {};

TEST_P(SmallNumberTest, MatchesTheDefinition) {
  const auto& [name, format, bits, value, code] = GetParam();
  for (std::uint32_t i = 0; i < 1U << bits; ++i) {
    const double number = format.number(i);
    if (std::isnan(number)) {
      ASSERT_TRUE(std::isnan(value(i))) << i;
      ASSERT_TRUE(std::isnan(value(code(number)))) << i;
      continue;
    }
    ASSERT_EQ(value(i), number) << i;
    ASSERT_EQ(std::signbit(value(i)), std::signbit(number)) << i;
    const double middle = (number + format.number(i + 1)) / 2;
    const auto nearest = static_cast<float>(middle);
    for (const double each :
         {number, middle, std::nextafter(middle, 0), std::nextafter(middle, 2 * number),
          static_cast<double>(std::nextafter(nearest, 0.0F)),
          static_cast<double>(std::nextafter(nearest, 2 * nearest))}) {
      if (std::isnan(each)) continue;
      ASSERT_EQ(code(each), format.code(each)) << i << ": " << each;
    }
  }
}

template <Type type>
FormatCase format_case(const fakes::SmallFormat& format, unsigned bits) {
  return {std::string(to_string(type)), format, bits,
          [](std::uint64_t code) { return value_of(type, code); },
          [](double number) { return bits_of(type, number); }};
}

// The conversions of the timed loops. Their numbers are floats.
template <auto from, auto to>
FormatCase fast_case(const std::string& name, const fakes::SmallFormat& format) {
  return {name, format, 16,
          [](std::uint64_t code) {
            return static_cast<double>(from(static_cast<std::uint16_t>(code)));
          },
          [&format](double number) -> std::uint64_t {
            const auto rounded = static_cast<float>(number);
            const bool exact = static_cast<double>(rounded) == number || std::isnan(number);
            return exact ? to(rounded) : format.code(number);
          }};
}

INSTANTIATE_TEST_SUITE_P(Formats, SmallNumberTest,
                         ::testing::Values(format_case<Type::f8e4m3>(fakes::kFloat8e4m3, 8),
                                           format_case<Type::f8e5m2>(fakes::kFloat8e5m2, 8),
                                           format_case<Type::f16>(fakes::kHalf, 16),
                                           format_case<Type::bf16>(fakes::kBfloat16, 16),
                                           fast_case<from_f16, to_f16>("fast_f16", fakes::kHalf),
                                           fast_case<from_bf16, to_bf16>("fast_bf16",
                                                                         fakes::kBfloat16)),
                         [](const auto& param) { return param.param.name; });

TEST(NumberTest, MatchesTheProcessor) {
  for (std::uint32_t bits = 0; bits < 0x7f800000U; bits += 99'991) {
    const auto number = static_cast<double>(std::bit_cast<float>(bits));
    ASSERT_EQ(value_of(Type::f32, bits), number);
    ASSERT_EQ(bits_of(Type::f32, number), bits);
    const auto odd = number * 1.0000000001;
    ASSERT_EQ(bits_of(Type::f32, odd), std::bit_cast<std::uint32_t>(static_cast<float>(odd)));
    ASSERT_EQ(value_of(Type::f64, std::bit_cast<std::uint64_t>(odd)), odd);
    ASSERT_EQ(bits_of(Type::f64, -odd), std::bit_cast<std::uint64_t>(-odd));
    ASSERT_EQ(bits_of(Type::f16, number), to_f16(static_cast<float>(number)));
    ASSERT_EQ(bits_of(Type::bf16, number), to_bf16(static_cast<float>(number)));
  }
}

TEST(NumberTest, OverflowsToInfinityIfTheTypeHasOne) {
  EXPECT_EQ(bits_of(Type::f8e5m2, 1e6), 0x7cU);
  EXPECT_EQ(bits_of(Type::f8e4m3, 1e6), 0x7fU) << "NaN: it has no infinity";
  EXPECT_EQ(bits_of(Type::f16, kInfinity), 0x7c00U);
  EXPECT_EQ(bits_of(Type::f32, -kInfinity), 0xff800000U);
}

TEST(NumberTest, HasSignedIntegers) {
  EXPECT_EQ(value_of(Type::i8, 0xff), -1);
  EXPECT_EQ(value_of(Type::u8, 0xff), 255);
  EXPECT_EQ(value_of(Type::i64, ~std::uint64_t{0}), -1);
  EXPECT_EQ(bits_of(Type::i32, -2), 0xfffffffeU);
  EXPECT_EQ(format_of(Type::i32).exact_up_to(), 2147483647U);
  EXPECT_EQ(format_of(Type::u64).exact_up_to(), ~std::uint64_t{0});
  EXPECT_EQ(format_of(Type::bf16).exact_up_to(), 256U);
}

TEST(HalfTest, OverflowsToInfinity) {
  EXPECT_EQ(to_f16(65519.99F), 0x7bff);
  EXPECT_EQ(to_f16(65520.0F), 0x7c00);
  EXPECT_EQ(to_f16(-1e30F), 0xfc00);
  EXPECT_EQ(to_f16(kFloatInfinity), 0x7c00);
  EXPECT_EQ(to_bf16(std::numeric_limits<float>::max()), 0x7f80);
  EXPECT_EQ(to_bf16(-kFloatInfinity), 0xff80);
}

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
