// SPDX-License-Identifier: Apache-2.0
// A small bare-metal node for the tests of pci.*: one GPU and one HCA below a root port and a
// switch.
#pragma once

#include <string>
#include <utility>

#include "checks/catalogue.hpp"
#include "tests/support/printers.hpp"

namespace muster {

inline PciDevice pci_device(std::string address, PciKind kind) {
  PciDevice device{.address = std::move(address), .kind = kind};
  device.responding = true;
  device.link_speed_gts = 32.0;
  device.link_speed_max_gts = 32.0;
  device.link_width = 16U;
  device.link_width_max = 16U;
  device.aer = AerCounts{};
  device.payload_bytes = 256U;
  device.payload_max_bytes = 256U;
  if (kind == PciKind::bridge) device.acs_control = 0U;
  if (kind == PciKind::gpu || kind == PciKind::hca)
    device.upstream = {"0000:00:01.0", "0000:01:00.0"};
  return device;
}

// The devices of small_node(), by their place in its list.
inline constexpr std::size_t kRootPort = 0;
inline constexpr std::size_t kSwitch = 1;
inline constexpr std::size_t kGpu = 2;
inline constexpr std::size_t kHca = 3;

inline Snapshot small_node() {
  Snapshot snapshot;
  snapshot.identity = observed(Identity{.hostname = "node1", .uptime_s = 7200.0});
  snapshot.pci = observed(Pci{.devices = {pci_device("0000:00:01.0", PciKind::bridge),
                                          pci_device("0000:01:00.0", PciKind::bridge),
                                          pci_device("0000:02:00.0", PciKind::gpu),
                                          pci_device("0000:03:00.0", PciKind::hca)}});
  return snapshot;
}

inline PciDevice& device(Snapshot& snapshot, std::size_t index) {
  return snapshot.pci->devices.at(index);
}

// The same devices as a guest sees them: no bridges, no error counters.
inline Snapshot small_guest() {
  Snapshot snapshot = small_node();
  snapshot.identity.facts.hypervisor = true;
  auto& devices = snapshot.pci.facts.devices;
  devices.erase(devices.begin(), devices.begin() + 2);
  for (auto& device : devices) {
    device.upstream.clear();
    device.aer = Fact<AerCounts>::absent("no AER");
  }
  return snapshot;
}

inline Profile one_gpu_and_hca() {
  Profile profile;
  profile.gpu->present.count = 1;
  profile.ib->present.count = 1;
  profile.pci->link.gpu = {.speed = Transfers{32e9}, .width = 16};
  profile.pci->link.hca = {.speed = Transfers{32e9}, .width = 16};
  return profile;
}

}  // namespace muster
