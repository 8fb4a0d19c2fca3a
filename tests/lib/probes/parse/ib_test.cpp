// SPDX-License-Identifier: Apache-2.0
#include "lib/probes/parse/ib.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "lib/probes/attributes.hpp"

namespace muster {
namespace {

using ::testing::HasSubstr;

TEST(LinkRateTest, ReadsRateWidthAndLaneSpeed) {
  EXPECT_EQ(parse_link_rate("400 Gb/sec (4X NDR)"),
            (LinkRate{.gbps = 400, .lanes = 4, .speed = "NDR"}));
  EXPECT_EQ(parse_link_rate("2.5 Gb/sec (1X SDR)"),
            (LinkRate{.gbps = 2.5, .lanes = 1, .speed = "SDR"}));
  EXPECT_EQ(parse_link_rate("40 Gb/sec (4X FDR10)"),
            (LinkRate{.gbps = 40, .lanes = 4, .speed = "FDR10"}));
}

TEST(LinkRateTest, TheSpeedIsEmptyOnOldKernels) {
  EXPECT_EQ(parse_link_rate("10 Gb/sec (4X)"), (LinkRate{.gbps = 10, .lanes = 4, .speed = ""}));
}

TEST(LinkRateTest, RefusesInvalidText) {
  const std::vector<std::string> wrong{"",
                                       "400",
                                       "400 Gb/sec",
                                       "400 Gb/s (4X NDR)",
                                       "Gb/sec (4X NDR) 400",
                                       "400 Gb/sec (X NDR)",
                                       "400 Gb/sec (4 NDR)",
                                       "400 Gb/sec (4X NDR",
                                       "400 Gb/sec 4X NDR)",
                                       "400 Gb/sec (4X n\x1b[0m)",
                                       "-400 Gb/sec (4X NDR)",
                                       "nan Gb/sec (4X NDR)",
                                       "1e300 Gb/sec (4X NDR)",
                                       "400 Gb/sec (4294967300X NDR)",
                                       "400 Gb/sec (4X NDR) (4X NDR)"};
  for (const std::string& text : wrong) EXPECT_FALSE(parse_link_rate(text)) << text;
}

TEST(LinkRateTest, EscapesTextInErrors) {
  EXPECT_THAT(parse_link_rate("\x1b[31m").error().message, HasSubstr("got \"\\x1b[31m\""));
}

TEST(NumberedStateTest, ReadsTheNumberAndIgnoresTheWord) {
  EXPECT_EQ(parse_numbered_state("4: ACTIVE"), 4U);
  EXPECT_EQ(parse_numbered_state("9: <unknown>"), 9U);
}

TEST(NumberedStateTest, RefusesAWordAlone) {
  EXPECT_FALSE(parse_numbered_state("ACTIVE"));
  EXPECT_FALSE(parse_numbered_state(": ACTIVE"));
  EXPECT_FALSE(parse_numbered_state("-1: ACTIVE"));
  EXPECT_FALSE(parse_numbered_state("4294967300: ACTIVE"));
}

TEST(AddressTextTest, ReadsLidsAndKeysAsTheKernelWritesThem) {
  EXPECT_EQ(parse_lid("0x1a0"), 0x1a0U);
  EXPECT_EQ(parse_pkey("0x8015"), 0x8015U);
}

TEST(AddressTextTest, RefusesNumbersThatAreTooLargeOrNotHex) {
  EXPECT_FALSE(parse_lid("0x100000000"));
  EXPECT_FALSE(parse_lid("416"));
  EXPECT_FALSE(parse_pkey("0x18015"));
  EXPECT_FALSE(parse_pkey("0x"));
  EXPECT_FALSE(parse_pkey("full"));
}

TEST(AddressTextTest, ReadsGidsAndGuidsInLowerCase) {
  EXPECT_EQ(parse_gid("FE80:0000:0000:0000:0015:5dff:fe33:ff00"),
            "fe80:0000:0000:0000:0015:5dff:fe33:ff00");
  EXPECT_EQ(parse_guid("0015:5DFF:fe33:ff00"), "0015:5dff:fe33:ff00");
}

TEST(AddressTextTest, RefusesGidsOfTheWrongShape) {
  EXPECT_FALSE(parse_gid("fe80::1"));
  EXPECT_FALSE(parse_gid("fe80:0000:0000:0000:0015:5dff:fe33"));
  EXPECT_FALSE(parse_gid("fe80:0000:0000:0000:0015:5dff:fe33:zz00"));
  EXPECT_FALSE(parse_guid(""));
}

TEST(PciAddressTest, RecognisesPciAddresses) {
  EXPECT_TRUE(is_pci_address("0101:00:00.0"));
  EXPECT_TRUE(is_pci_address("10000:e1:1f.7"));
  EXPECT_FALSE(is_pci_address("01:00.0"));
  EXPECT_FALSE(is_pci_address("0101:00:00.8"));
  EXPECT_FALSE(is_pci_address("virtual"));
  EXPECT_FALSE(is_pci_address(""));
}

}  // namespace
}  // namespace muster
