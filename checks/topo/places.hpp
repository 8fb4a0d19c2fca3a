// SPDX-License-Identifier: Apache-2.0
// Where devices sit, from the two sources that can differ: sysfs's numa_node, and hwloc, which goes
// by the CPUs that are local to the device.
#pragma once

#include <algorithm>
#include <optional>
#include <string>

#include "checks/shared/pci_bus.hpp"
#include "checks/shared/support.hpp"
#include "lib/profile/limits/topology.hpp"

namespace muster::checks::topo {

// Null when it is not on the bus or no longer answers: then pci.devices says so.
[[nodiscard]] inline const PciDevice* on_bus(const Snapshot& snapshot, const std::string& address) {
  const PciDevice* device = pci::device_at(snapshot, address);
  return device == nullptr || pci::silent(*device) ? nullptr : device;
}

[[nodiscard]] inline const Placement* placement_of(const Snapshot& snapshot,
                                                   const std::string& address) {
  const auto& all = snapshot.topology->devices;
  const auto found = std::ranges::find(all, address, &Placement::address);
  return found == all.end() ? nullptr : &*found;
}

// What each source says; empty where it has no word.
struct NumaWords {
  std::optional<unsigned> sysfs;
  std::optional<unsigned> local_cpus;

  [[nodiscard]] bool contradict() const { return sysfs && local_cpus && sysfs != local_cpus; }
};

[[nodiscard]] inline NumaWords numa_words(const Snapshot& snapshot, const std::string& address) {
  NumaWords words;
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

// A source contradicts the profile, or the two contradict each other: topo.numa's finding.
[[nodiscard]] inline bool is_misplaced(const Snapshot& snapshot, const Profile& profile,
                                       const std::string& address) {
  const auto expected = expected_node(profile, address);
  const NumaWords words = numa_words(snapshot, address);
  if (words.contradict()) return true;
  return expected && (words.sysfs.value_or(*expected) != *expected ||
                      words.local_cpus.value_or(*expected) != *expected);
}

}  // namespace muster::checks::topo
