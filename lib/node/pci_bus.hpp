// SPDX-License-Identifier: Apache-2.0
// Looking up devices on a node's PCI bus.
#pragma once

#include <algorithm>
#include <string_view>
#include <vector>

#include "lib/node/snapshot.hpp"

namespace muster {

// Null where the bus does not list it.
[[nodiscard]] inline const PciDevice* device_at(const Snapshot& snapshot,
                                                std::string_view address) {
  const auto& all = snapshot.pci->devices;
  const auto found = std::ranges::find(all, address, &PciDevice::address);
  return found == all.end() ? nullptr : &*found;
}

// The devices of a kind, without the virtual functions of a host: those stand for parts of devices
// that are judged themselves, and work in whatever container or guest they were given to.
[[nodiscard]] inline std::vector<const PciDevice*> devices_of(const Snapshot& snapshot,
                                                              PciKind kind) {
  std::vector<const PciDevice*> found;
  for (const auto& device : snapshot.pci->devices) {
    if (device.kind == kind && !device.virtual_function) found.push_back(&device);
  }
  return found;
}

}  // namespace muster
