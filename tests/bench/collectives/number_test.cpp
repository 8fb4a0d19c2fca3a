// SPDX-License-Identifier: Apache-2.0
#include "bench/collectives/number.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

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

TEST(NumberTest, RoundTrips8And16Bits) {
  for (const auto type : {Type::f8e4m3, Type::f8e5m2, Type::f16, Type::bf16, Type::i8, Type::u8}) {
    for (std::uint64_t bits = 0; bits <= format_of(type).mask(); ++bits) {
      const auto value = value_of(type, bits);
      if (std::isnan(value)) {
        EXPECT_TRUE(std::isnan(value_of(type, bits_of(type, value))));
      } else {
        ASSERT_EQ(bits_of(type, value), bits) << to_string(type);
      }
    }
  }
}

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

// Between each number and the next: down below the middle, up above it, to even on it.
TEST(NumberTest, RoundsToTheNearestAndTiesToEven) {
  for (const auto& [type, largest] : {std::pair{Type::f8e4m3, 0x7eU}, {Type::f8e5m2, 0x7bU}}) {
    for (std::uint64_t bits = 0; bits < largest; ++bits) {
      const auto next = value_of(type, bits + 1);
      const auto middle = (value_of(type, bits) + next) / 2;
      ASSERT_EQ(bits_of(type, middle), bits % 2 == 0 ? bits : bits + 1);
      ASSERT_EQ(bits_of(type, std::nextafter(middle, 0)), bits);
      ASSERT_EQ(bits_of(type, std::nextafter(middle, kInfinity)), bits + 1);
    }
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

TEST(HalfTest, HasF16Values) {
  EXPECT_EQ(from_f16(0x0000), 0.0F);
  EXPECT_EQ(from_f16(0x3c00), 1.0F);
  EXPECT_EQ(from_f16(0xc000), -2.0F);
  EXPECT_EQ(from_f16(0x7bff), 65504.0F);
  EXPECT_EQ(from_f16(0x0400), 0x1p-14F);
  EXPECT_EQ(from_f16(0x0001), 0x1p-24F);
  EXPECT_EQ(from_f16(0x7c00), kFloatInfinity);
  EXPECT_EQ(from_f16(0xfc00), -kFloatInfinity);
  EXPECT_TRUE(std::isnan(from_f16(0x7c01)));
  EXPECT_TRUE(std::signbit(from_f16(0x8000)));
}

TEST(HalfTest, RoundTripsF16AndBf16) {
  for (std::uint32_t bits = 0; bits <= 0xffff; ++bits) {
    const auto half = static_cast<std::uint16_t>(bits);
    if (std::isnan(from_f16(half))) {
      EXPECT_TRUE(std::isnan(from_f16(to_f16(from_f16(half)))));
    } else {
      EXPECT_EQ(to_f16(from_f16(half)), half);
    }
    if (std::isnan(from_bf16(half))) {
      EXPECT_TRUE(std::isnan(from_bf16(to_bf16(from_bf16(half)))));
    } else {
      EXPECT_EQ(to_bf16(from_bf16(half)), half);
    }
  }
}

// Between each number and the next: down below the middle, up above it, to even on it.
template <class From, class To>
void expect_rounding(std::uint16_t largest, From from, To to) {
  for (std::uint16_t bits = 0; bits < largest; ++bits) {
    const auto next = static_cast<std::uint16_t>(bits + 1);
    const float middle = from(bits) + (from(next) - from(bits)) / 2;
    ASSERT_EQ(to(middle), bits % 2 == 0 ? bits : next) << bits;
    ASSERT_EQ(to(-middle), (bits % 2 == 0 ? bits : next) | 0x8000) << bits;
    ASSERT_EQ(to(std::nextafter(middle, 0.0F)), bits);
    ASSERT_EQ(to(std::nextafter(middle, kFloatInfinity)), next);
  }
}

TEST(HalfTest, RoundsToTheNearestF16AndTiesToEven) { expect_rounding(0x7bff, from_f16, to_f16); }

TEST(HalfTest, RoundsToTheNearestBf16AndTiesToEven) { expect_rounding(0x7f7f, from_bf16, to_bf16); }

TEST(HalfTest, OverflowsToInfinity) {
  EXPECT_EQ(to_f16(65519.99F), 0x7bff);
  EXPECT_EQ(to_f16(65520.0F), 0x7c00);
  EXPECT_EQ(to_f16(-1e30F), 0xfc00);
  EXPECT_EQ(to_f16(kFloatInfinity), 0x7c00);
  EXPECT_EQ(to_bf16(std::numeric_limits<float>::max()), 0x7f80);
  EXPECT_EQ(to_bf16(-kFloatInfinity), 0xff80);
}

}  // namespace
}  // namespace muster::bench
