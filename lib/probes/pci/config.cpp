// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include "lib/probes/parse/parse.hpp"

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

constexpr const char* kTooShort =
    "configuration space ends there: only root may read beyond its first 64 bytes";

using Offset = Result<std::size_t>;  // 0 if the list has no such capability

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

Offset find_capability(const ReadConfig& read, const Header& header, unsigned wanted) {
  constexpr std::size_t kStatus = 6;
  constexpr std::size_t kFirst = 0x34;
  constexpr unsigned kHasList = 0x10;
  if ((header[kStatus] & kHasList) == 0) return 0;
  std::size_t at = header[kFirst] & 0xfcU;
  for (int i = 0; i < kMaxCapabilities; ++i) {
    if (at == 0) return 0;
    if (at < kHeader) return make_error("the capability list points into the header");
    unsigned entry = 0;
    if (!read_number<2>(read, at, entry)) return make_error(kTooShort);
    if ((entry & 0xffU) == wanted) return at;
    if (entry == 0xffffU) return make_error("the capability list reads all ones");
    at = entry >> 8U & 0xfcU;
  }
  return make_error("the capability list is a cycle");
}

Offset find_extended_capability(const ReadConfig& read, unsigned wanted) {
  std::size_t at = kExtended;
  for (int i = 0; i < kMaxExtendedCapabilities; ++i) {
    unsigned entry = 0;
    if (at + 4 > kEnd || !read_number<4>(read, at, entry)) return make_error(kTooShort);
    if (entry == 0xffffffffU) return make_error("the extended capability list reads all ones");
    if (entry == 0 && at == kExtended) return 0;
    if ((entry & 0xffffU) == wanted) return at;
    at = entry >> 20U & 0xffcU;
    if (at == 0) return 0;
    if (at < kExtended) return make_error("the extended capability list points into the header");
  }
  return make_error("the extended capability list is a cycle");
}

// Decodes a field with values 0 to 5.
Fact<unsigned> payload(unsigned encoded) {
  if (encoded > 5) return make_error("the payload field holds a reserved value");
  return 128U << encoded;
}

void read_payload(const ReadConfig& read, const Header& header, PciDevice& device) {
  constexpr std::size_t kDeviceCapabilities = 4;
  constexpr std::size_t kDeviceControl = 8;
  const auto express = find_capability(read, header, kExpressCapability);
  const auto set = [&](const Fact<unsigned>& fact) {
    device.payload_bytes = device.payload_max_bytes = fact;
  };
  if (!express) return set(Fact<unsigned>::unreadable(express.error().message));
  if (*express == 0) return set(Fact<unsigned>::absent("the device has no PCI Express capability"));
  unsigned capabilities = 0;
  unsigned control = 0;
  if (!read_number<4>(read, *express + kDeviceCapabilities, capabilities) ||
      !read_number<2>(read, *express + kDeviceControl, control)) {
    return set(Fact<unsigned>::unreadable(kTooShort));
  }
  device.payload_max_bytes = payload(capabilities & 7U);
  device.payload_bytes = payload(control >> 5U & 7U);
}

// Reads a register of an extended capability; absent if the device does not have the capability.
template <std::size_t Size>
Fact<unsigned> read_register(const ReadConfig& read, unsigned capability, std::size_t place,
                             const char* none) {
  const auto offset = find_extended_capability(read, capability);
  if (!offset) return make_error(offset.error().message);
  if (*offset == 0) return make_missing(none);
  unsigned value = 0;
  if (read_number<Size>(read, *offset + place, value)) return value;
  return make_error(kTooShort);
}

void set_silent(PciDevice& device, const std::string& why) {
  device.responding = make_error(why);
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
  constexpr std::size_t kAcsControl = 6;
  constexpr std::size_t kAerStatus = 4;
  device.acs_control = device.kind == PciKind::bridge
                           ? read_register<2>(read, kAcsCapability, kAcsControl,
                                              "the bridge has no access control services")
                           : Fact<unsigned>::absent("not a bridge");
  device.uncorrectable_status =
      device.kind == PciKind::hca
          ? read_register<4>(read, kAerCapability, kAerStatus, "the device has no AER capability")
          : Fact<unsigned>::absent("not an HCA");
}

}  // namespace muster
