// SPDX-License-Identifier: Apache-2.0
// The NUMA nodes of devices from two sources that may differ: sysfs's numa_node, and the local CPUs
// of the device (hwloc).
#pragma once

#include "checks/shared/pci_bus.hpp"
#include "lib/profile/limits/topology.hpp"

namespace muster::checks::topo {

// Null if it is not on the bus or no longer responds, which pci.devices reports.
[[nodiscard]] inline const PciDevice* on_bus(const Snapshot& snapshot, const std::string& address) {
  const PciDevice* device = pci::device_at(snapshot, address);
  return device == nullptr || pci::is_silent(*device) ? nullptr : device;
}

[[nodiscard]] inline const Placement* placement_of(const Snapshot& snapshot,
                                                   const std::string& address) {
  const auto& all = snapshot.topology->devices;
  const auto found = std::ranges::find(all, address, &Placement::address);
  return found == all.end() ? nullptr : &*found;
}

// The NUMA node of a device from each source.
struct NumaSources {
  std::optional<unsigned> sysfs;
  std::optional<unsigned> local_cpus;

  [[nodiscard]] bool contradict() const { return sysfs && local_cpus && sysfs != local_cpus; }
};

[[nodiscard]] inline NumaSources numa_sources(const Snapshot& snapshot,
                                              const std::string& address) {
  NumaSources words;
  const PciDevice* device = on_bus(snapshot, address);
  if (device != nullptr && device->numa_node && *device->numa_node >= 0) {
    words.sysfs = static_cast<unsigned>(*device->numa_node);
  }
  const Placement* placement = placement_of(snapshot, address);
  if (placement != nullptr && placement->numa_nodes.size() == 1) {
    words.local_cpus = placement->numa_nodes.front();
  }
  return words;
}

[[nodiscard]] inline std::optional<unsigned> expected_node(const Profile& profile,
                                                           const std::string& address) {
  const TopoNumaLimits& limits = profile.topo->numa;
  for (const auto* nodes : {&limits.gpu, &limits.hca, &limits.nvme}) {
    if (const auto found = nodes->find(address); found != nodes->end()) {
      return static_cast<unsigned>(found->second);
    }
  }
  return std::nullopt;
}

// True if topo.numa fails the device: the sources contradict the profile or each other.
[[nodiscard]] inline bool is_misplaced(const Snapshot& snapshot, const Profile& profile,
                                       const std::string& address) {
  const auto expected = expected_node(profile, address);
  const NumaSources words = numa_sources(snapshot, address);
  if (words.contradict()) return true;
  return expected && (words.sysfs.value_or(*expected) != *expected ||
                      words.local_cpus.value_or(*expected) != *expected);
}

}  // namespace muster::checks::topo
