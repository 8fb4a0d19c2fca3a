// SPDX-License-Identifier: Apache-2.0
// Amounts in NHC's units.
#include "checks/nhc_conf/size.hpp"

#include <gtest/gtest.h>

namespace muster::nhc::size_test {
namespace {

constexpr double kMib = 1024.0 * 1024.0;

TEST(NhcSizeTest, IsInKibibytesWhereNoUnitIsNamed) {
  EXPECT_EQ(parse_size("1").value(), 1024);
  EXPECT_EQ(parse_size("1b").value(), 1024);
  EXPECT_EQ(parse_size("0kB").value(), 0);
}

TEST(NhcSizeTest, CountsUnitsInPowersOf1024) {
  EXPECT_EQ(parse_size("3k").value(), 3 * 1024);
  EXPECT_EQ(parse_size("1915071MB").value(), 1915071 * kMib);
  EXPECT_EQ(parse_size("2g").value(), 2048 * kMib);
  EXPECT_EQ(parse_size("1TB").value(), kMib * kMib);
  EXPECT_EQ(parse_size("1P").value(), kMib * kMib * 1024);
}

TEST(NhcSizeTest, RefusesWhatIsNoNumber) {
  for (const auto* text : {"", "MB", "1.5GB", "-1", "1MiB", "x"}) {
    EXPECT_FALSE(parse_size(text)) << text;
  }
  EXPECT_EQ(parse_size("x").error().message, "expects a size as 512MB, got \"x\"");
}

TEST(NhcCountTest, CountsUnitsInPowersOf1000) {
  EXPECT_EQ(parse_count("7").value(), 7);
  EXPECT_EQ(parse_count("10k").value(), 10000);
  EXPECT_EQ(parse_count("1M").value(), 1000000);
  EXPECT_EQ(parse_count("1kB").error().message, "expects a number as 10k, got \"1kB\"");
}

TEST(NhcAmountTest, IsAShareOrAnAmount) {
  EXPECT_EQ(parse_amount("5%", parse_size).value(), (Amount{.value = 5, .percent = true}));
  EXPECT_EQ(parse_amount("1k", parse_size).value(), (Amount{.value = 1024}));
  EXPECT_EQ(parse_amount("101%", parse_size).error().message,
            "expects a share as 5%, got \"101%\"");
  EXPECT_FALSE(parse_amount("", parse_size));
}

}  // namespace
}  // namespace muster::nhc::size_test
