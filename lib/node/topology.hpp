// SPDX-License-Identifier: Apache-2.0
// Where hwloc places GPUs, HCAs and NVMe disks in the machine.
#pragma once

#include <string>
#include <vector>

#include "lib/base/fields.hpp"

namespace muster {

struct Placement {
  std::string address;               // PCI address of a GPU, HCA or NVMe
  std::string os_device;             // mlx5_ib0, ib0, nvme0n1; empty for GPUs
  std::vector<unsigned> numa_nodes;  // hwloc's word, from local_cpus; several when it is not one
  std::vector<std::string> bridges;  // hwloc's bridges above it, nearest last, as PCI addresses

  template <class Self = Placement>
  static constexpr auto fields() {
    return std::tuple{field("address", &Self::address, "PCI address"),
                      field("os_device", &Self::os_device, "the operating system's name"),
                      field("numa_nodes", &Self::numa_nodes, "NUMA nodes it is local to, by hwloc"),
                      field("bridges", &Self::bridges, "bridges above it, nearest last")};
  }

  bool operator==(const Placement&) const = default;
};

struct Topology {
  std::vector<Placement> devices;  // GPUs, HCAs and NVMe, sorted by address

  template <class Self = Topology>
  static constexpr auto fields() {
    return std::tuple{field("devices", &Self::devices, "GPUs, HCAs and NVMe as hwloc places them")};
  }

  bool operator==(const Topology&) const = default;
};

}  // namespace muster
