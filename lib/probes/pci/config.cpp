// SPDX-License-Identifier: Apache-2.0
#include "lib/probes/pci/config.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

namespace muster {
namespace {

constexpr std::size_t kHeader = 64;
constexpr std::size_t kExtended = 0x100;
constexpr std::size_t kEnd = 0x1000;
constexpr unsigned kExpressCapability = 0x10;
constexpr unsigned kAerCapability = 0x0001;
constexpr unsigned kAcsCapability = 0x000d;
// A list with more capabilities than fit is a cycle.
constexpr int kMaxCapabilities = 48;
constexpr int kMaxExtendedCapabilities = (kEnd - kExtended) / 8;

using Header = std::array<std::uint8_t, kHeader>;

constexpr std::string_view kTooShort =
    "configuration space ends there: only root may read beyond its first 64 bytes";

struct Found {
  std::size_t offset = 0;  // 0 if the list has no such capability
  std::string trouble;     // why the list could not be followed
};

unsigned little_endian(std::span<const std::uint8_t> bytes) {
  unsigned value = 0;
  for (std::size_t i = bytes.size(); i > 0; --i) value = value << 8U | bytes[i - 1];
  return value;
}

template <std::size_t Size>
bool read_number(const ReadConfig& read, std::size_t offset, unsigned& into) {
  std::array<std::uint8_t, Size> bytes{};
  if (!read(offset, bytes)) return false;
  into = little_endian(bytes);
  return true;
}

Found find_capability(const ReadConfig& read, const Header& header, unsigned wanted) {
  constexpr std::size_t kStatus = 6;
  constexpr std::size_t kFirst = 0x34;
  constexpr unsigned kHasList = 0x10;
  if ((header[kStatus] & kHasList) == 0) return {};
  std::size_t at = header[kFirst] & 0xfcU;
  for (int i = 0; i < kMaxCapabilities; ++i) {
    if (at == 0) return {};
    if (at < kHeader) return {.offset = 0, .trouble = "the capability list points into the header"};
    unsigned entry = 0;
    if (!read_number<2>(read, at, entry)) return {.offset = 0, .trouble = std::string(kTooShort)};
    if ((entry & 0xffU) == wanted) return {.offset = at, .trouble = {}};
    if (entry == 0xffffU) return {.offset = 0, .trouble = "the capability list reads all ones"};
    at = entry >> 8U & 0xfcU;
  }
  return {.offset = 0, .trouble = "the capability list runs in a circle"};
}

Found find_extended_capability(const ReadConfig& read, unsigned wanted) {
  std::size_t at = kExtended;
  for (int i = 0; i < kMaxExtendedCapabilities; ++i) {
    unsigned entry = 0;
    if (at + 4 > kEnd || !read_number<4>(read, at, entry))
      return {.offset = 0, .trouble = std::string(kTooShort)};
    if (entry == 0xffffffffU)
      return {.offset = 0, .trouble = "the extended capability list reads all ones"};
    if (entry == 0 && at == kExtended) return {};
    if ((entry & 0xffffU) == wanted) return {.offset = at, .trouble = {}};
    at = entry >> 20U & 0xffcU;
    if (at == 0) return {};
    if (at < kExtended)
      return {.offset = 0, .trouble = "the extended capability list points into the header"};
  }
  return {.offset = 0, .trouble = "the extended capability list runs in a circle"};
}

// Decodes a field with values 0 to 5.
Fact<unsigned> payload(unsigned encoded) {
  if (encoded > 5) return Fact<unsigned>::unreadable("the payload field holds a reserved value");
  return 128U << encoded;
}

void read_payload(const ReadConfig& read, const Header& header, PciDevice& device) {
  constexpr std::size_t kDeviceCapabilities = 4;
  constexpr std::size_t kDeviceControl = 8;
  Fact<unsigned> missing = Fact<unsigned>::absent("the device has no PCI Express capability");
  const Found express = find_capability(read, header, kExpressCapability);
  unsigned capabilities = 0;
  unsigned control = 0;
  if (!express.trouble.empty()) missing = Fact<unsigned>::unreadable(express.trouble);
  if (express.offset != 0) {
    if (read_number<4>(read, express.offset + kDeviceCapabilities, capabilities) &&
        read_number<2>(read, express.offset + kDeviceControl, control)) {
      device.payload_max_bytes = payload(capabilities & 7U);
      device.payload_bytes = payload(control >> 5U & 7U);
      return;
    }
    missing = Fact<unsigned>::unreadable(std::string(kTooShort));
  }
  device.payload_bytes = device.payload_max_bytes = missing;
}

// Reads a register of an extended capability; absent if the device does not have the capability.
template <std::size_t Size>
Fact<unsigned> read_register(const ReadConfig& read, unsigned capability, std::size_t place,
                             const char* none) {
  const Found found = find_extended_capability(read, capability);
  if (!found.trouble.empty()) return Fact<unsigned>::unreadable(found.trouble);
  if (found.offset == 0) return Fact<unsigned>::absent(none);
  unsigned value = 0;
  if (read_number<Size>(read, found.offset + place, value)) return value;
  return Fact<unsigned>::unreadable(std::string(kTooShort));
}

Fact<unsigned> read_acs(const ReadConfig& read) {
  constexpr std::size_t kControl = 6;
  return read_register<2>(read, kAcsCapability, kControl,
                          "the bridge has no access control services");
}

Fact<unsigned> read_uncorrectable(const ReadConfig& read) {
  constexpr std::size_t kStatus = 4;
  return read_register<4>(read, kAerCapability, kStatus, "the device has no AER capability");
}

void set_silent(PciDevice& device, const std::string& why) {
  device.responding = Fact<bool>::unreadable(why);
  set_config(device, Fact<unsigned>::unreadable(why));
}

}  // namespace

void set_config(PciDevice& device, const Fact<unsigned>& why) {
  device.payload_bytes = device.payload_max_bytes = why;
  device.acs_control = device.uncorrectable_status = why;
}

void parse_pci_config(const ReadConfig& read, PciDevice& device) {
  Header header{};
  if (!read(0, header)) return set_silent(device, "configuration space is shorter than its header");
  if (std::all_of(header.begin(), header.end(), [](std::uint8_t byte) { return byte == 0xff; })) {
    device.responding = false;
    return set_config(device,
                      Fact<unsigned>::unreadable(
                          "the device does not answer: configuration space reads all ones"));
  }
  // A virtual function's vendor id reads ffff; 0000 is invalid.
  if (header[0] == 0 && header[1] == 0) {
    return set_silent(device, "configuration space names vendor 0000");
  }
  device.responding = true;
  read_payload(read, header, device);
  device.acs_control =
      device.kind == PciKind::bridge ? read_acs(read) : Fact<unsigned>::absent("not a bridge");
  device.uncorrectable_status =
      device.kind == PciKind::hca ? read_uncorrectable(read) : Fact<unsigned>::absent("not an HCA");
}

}  // namespace muster
