// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "lib/probes/parse/parse.hpp"

namespace muster {
namespace {

using Bytes8 = std::vector<std::uint8_t>;

PciDevice parse(const Bytes8& bytes, PciKind kind = PciKind::bridge) {
  const auto read = [&](std::size_t offset, std::span<std::uint8_t> into) {
    if (offset + into.size() > bytes.size()) return false;
    std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(offset), into.size(), into.begin());
    return true;
  };
  PciDevice device{.kind = kind};
  parse_pci_config(read, device);
  return device;
}

// A bridge with power management, PCI Express (payload 512 of 1024), AER and ACS 0x1d.
Bytes8 bridge_config() {
  Bytes8 bytes(4096, 0);
  bytes[0] = 0xb5;
  bytes[1] = 0x10;
  bytes[0x06] = 0x10;
  bytes[0x34] = 0x40;
  bytes[0x40] = 0x01;
  bytes[0x41] = 0x68;
  bytes[0x68] = 0x10;
  bytes[0x6c] = 0x03;
  bytes[0x70] = 0x40;
  bytes[0x100] = 0x01;
  bytes[0x102] = 0x01;
  bytes[0x103] = 0x14;  // next at 0x140
  bytes[0x140] = 0x0d;
  bytes[0x142] = 0x01;
  bytes[0x146] = 0x1d;
  return bytes;
}

TEST(PciConfigTest, ReadsPayloadAndAccessControl) {
  EXPECT_EQ(parse(bridge_config()),
            (PciDevice{.responding = true,
                       .uncorrectable_status = Fact<unsigned>::absent("not an HCA"),
                       .payload_bytes = 512U,
                       .payload_max_bytes = 1024U,
                       .acs_control = 0x1dU}));
}

TEST(PciConfigTest, ReadsTheUncorrectableErrorsOfAnHca) {
  auto bytes = bridge_config();
  bytes[0x105] = 0x40;  // bit 14: a completion timed out
  const auto config = parse(bytes, PciKind::hca);
  EXPECT_EQ(config.uncorrectable_status, Fact<unsigned>(0x4000U));
  bytes[0x100] = 0x03;
  EXPECT_TRUE(parse(bytes, PciKind::hca).uncorrectable_status.is_absent());
  bytes.resize(256);
  EXPECT_TRUE(parse(bytes, PciKind::hca).uncorrectable_status.is_unreadable());
}

TEST(PciConfigTest, AllOnesMeanThatTheDeviceDoesNotRespond) {
  const auto config = parse(Bytes8(4096, 0xff));
  EXPECT_EQ(config.responding, Fact<bool>(false));
  EXPECT_TRUE(config.payload_bytes.is_unreadable());
}

TEST(PciConfigTest, AcceptsAVirtualFunctionsVendorId) {
  auto bytes = bridge_config();
  std::fill_n(bytes.begin(), 4, 0xff);
  EXPECT_EQ(parse(bytes).responding, Fact<bool>(true));
}

TEST(PciConfigTest, ZerosAndShortFilesAreUnreadable) {
  EXPECT_TRUE(parse(Bytes8(4096, 0)).responding.is_unreadable());
  EXPECT_TRUE(parse(Bytes8(10, 1)).responding.is_unreadable());
  EXPECT_TRUE(parse({}).payload_bytes.is_unreadable());
}

TEST(PciConfigTest, WithoutPrivilegeOnlyTheResponseIsKnown) {
  auto bytes = bridge_config();
  bytes.resize(64);
  const auto config = parse(bytes);
  EXPECT_EQ(config.responding, Fact<bool>(true));
  EXPECT_TRUE(config.payload_bytes.is_unreadable());
  EXPECT_TRUE(config.acs_control.is_unreadable());
}

TEST(PciConfigTest, MissingCapabilitiesAreAbsent) {
  auto bytes = bridge_config();
  bytes[0x06] = 0;
  bytes[0x103] = 0;
  const auto config = parse(bytes);
  EXPECT_TRUE(config.payload_max_bytes.is_absent());
  EXPECT_TRUE(config.acs_control.is_absent());
  EXPECT_TRUE(parse(bridge_config(), PciKind::gpu).acs_control.is_absent());
}

TEST(PciConfigTest, DetectsCyclesInCapabilityLists) {
  auto bytes = bridge_config();
  bytes[0x68] = 0x01;
  bytes[0x69] = 0x40;  // 0x40 → 0x68 → 0x40
  bytes[0x140] = 0x02;
  bytes[0x143] = 0x10;  // 0x140 → 0x100 → 0x140
  const auto config = parse(bytes);
  EXPECT_EQ(config.payload_bytes.why(), "the capability list is a cycle");
  EXPECT_EQ(config.acs_control.why(), "the extended capability list is a cycle");
}

TEST(PciConfigTest, AReservedPayloadIsUnreadable) {
  auto bytes = bridge_config();
  bytes[0x70] = 0xe0;
  EXPECT_TRUE(parse(bytes).payload_bytes.is_unreadable());
}

}  // namespace
}  // namespace muster
