// SPDX-License-Identifier: Apache-2.0
// PCI configuration space, byte by byte: the header, the PCI Express capability with link and
// payload, and in extended space AER and ACS if the device has them. hwloc and lspci read the link
// from here only.
#include <algorithm>
#include <cmath>
#include <cstddef>

#include "tests/nodes/parts.hpp"

namespace muster::nodes {
namespace {

constexpr std::size_t kSize = 4096;
constexpr std::size_t kExpress = 0x60;
constexpr std::size_t kAer = 0x100;
constexpr std::size_t kAcs = 0x160;

class Space {
 public:
  void put(std::size_t at, std::size_t bytes, std::uint32_t value) {
    for (std::size_t i = 0; i < bytes; ++i) {
      bytes_.at(at + i) = static_cast<char>((value >> (8 * i)) & 0xffU);
    }
  }

  [[nodiscard]] std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_ = std::string(kSize, '\0');
};

// 2.5 is 1, 5 is 2, 8 is 3, 16 is 4, 32 is 5, 64 is 6; 0 if the link is unknown.
std::uint32_t speed_code(double gts) {
  if (gts <= 0) return 0;
  if (gts < 8) return gts < 5 ? 1 : 2;
  return static_cast<std::uint32_t>(std::lround(std::log2(gts)));
}

std::uint32_t payload_code(unsigned bytes) {
  std::uint32_t code = 0;
  while (code < 5 && (128U << code) < bytes) ++code;
  return code;
}

void put_express(Space& space, const PciDescription& pci, unsigned port_type) {
  space.put(kExpress, 2, 0x0010);  // the capability's id, and no next one
  space.put(kExpress + 0x02, 2, 0x0002U | (port_type << 4));
  space.put(kExpress + 0x04, 4, 0x8000U | payload_code(pci.payload_max_bytes));
  space.put(kExpress + 0x08, 2, 0x5000U | (payload_code(pci.payload_bytes) << 5));
  space.put(kExpress + 0x0c, 4, speed_code(pci.max_speed_gts) | (pci.max_width << 4));
  space.put(kExpress + 0x12, 2, speed_code(pci.speed_gts) | (pci.width << 4));
}

// Extended capabilities form a list: id, version in bits 16 to 19, next in bits 20 to 31.
void put_extended(Space& space, const PciDescription& pci) {
  if (!pci.aer && !pci.acs) return;
  const std::uint32_t next = pci.acs ? kAcs : 0;
  // The list must begin at 0x100, so without AER a vendor-specific capability is there.
  space.put(kAer, 4, (pci.aer ? 0x0001U : 0x000bU) | (1U << 16) | (next << 20));
  if (!pci.aer) space.put(kAer + 4, 4, 0x0c0U << 20);
  if (!pci.acs) return;
  space.put(kAcs, 4, 0x000dU | (1U << 16));
  space.put(kAcs + 4, 2, 0x001f);
  space.put(kAcs + 6, 2, pci.acs_control);
}

}  // namespace

std::string config_space(const PciDescription& pci, const BridgeBuses& bridge) {
  if (!pci.responding) {
    std::string all_ones(kSize, '\0');
    std::ranges::fill(all_ones, '\xff');
    return all_ones;
  }
  Space space;
  space.put(0x00, 2, pci.vendor);
  space.put(0x02, 2, pci.device);
  space.put(0x04, 2, 0x0406);
  space.put(0x06, 2, 0x0010);  // it has a list of capabilities
  space.put(0x08, 1, 0xa1);
  space.put(0x09, 3, pci.class_code);
  space.put(0x34, 1, kExpress);
  if (bridge.port_type != 0) {
    space.put(0x0e, 1, 0x01);
    space.put(0x18, 1, bridge.primary);
    space.put(0x19, 1, bridge.secondary);
    space.put(0x1a, 1, bridge.subordinate);
  } else {
    space.put(0x2c, 2, pci.vendor);
    space.put(0x2e, 2, 0x16c1);
  }
  put_express(space, pci, bridge.port_type);
  put_extended(space, pci);
  return space.take();
}

}  // namespace muster::nodes
