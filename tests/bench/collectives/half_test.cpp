// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "bench/collectives/number.hpp"

namespace muster::bench {
namespace {

constexpr float kInfinite = std::numeric_limits<float>::infinity();

TEST(HalfTest, KnowsTheValuesOfF16) {
  EXPECT_EQ(from_f16(0x0000), 0.0F);
  EXPECT_EQ(from_f16(0x3c00), 1.0F);
  EXPECT_EQ(from_f16(0xc000), -2.0F);
  EXPECT_EQ(from_f16(0x7bff), 65504.0F);
  EXPECT_EQ(from_f16(0x0400), 0x1p-14F);
  EXPECT_EQ(from_f16(0x0001), 0x1p-24F);
  EXPECT_EQ(from_f16(0x7c00), kInfinite);
  EXPECT_EQ(from_f16(0xfc00), -kInfinite);
  EXPECT_TRUE(std::isnan(from_f16(0x7c01)));
  EXPECT_TRUE(std::signbit(from_f16(0x8000)));
}

TEST(HalfTest, GivesBackEveryF16AndBf16) {
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

// Between each number and the next: below the middle down, above it up, on it to the even one.
template <class From, class To>
void expect_rounding(std::uint16_t largest, From from, To to) {
  for (std::uint16_t bits = 0; bits < largest; ++bits) {
    const auto next = static_cast<std::uint16_t>(bits + 1);
    const float middle = from(bits) + (from(next) - from(bits)) / 2;
    ASSERT_EQ(to(middle), bits % 2 == 0 ? bits : next) << bits;
    ASSERT_EQ(to(-middle), (bits % 2 == 0 ? bits : next) | 0x8000) << bits;
    ASSERT_EQ(to(std::nextafter(middle, 0.0F)), bits);
    ASSERT_EQ(to(std::nextafter(middle, kInfinite)), next);
  }
}

TEST(HalfTest, RoundsToTheNearestF16AndTiesToEven) { expect_rounding(0x7bff, from_f16, to_f16); }

TEST(HalfTest, RoundsToTheNearestBf16AndTiesToEven) { expect_rounding(0x7f7f, from_bf16, to_bf16); }

TEST(HalfTest, OverflowsToInfinity) {
  EXPECT_EQ(to_f16(65519.99F), 0x7bff);
  EXPECT_EQ(to_f16(65520.0F), 0x7c00);
  EXPECT_EQ(to_f16(-1e30F), 0xfc00);
  EXPECT_EQ(to_f16(kInfinite), 0x7c00);
  EXPECT_EQ(to_bf16(std::numeric_limits<float>::max()), 0x7f80);
  EXPECT_EQ(to_bf16(-kInfinite), 0xff80);
}

}  // namespace
}  // namespace muster::bench
