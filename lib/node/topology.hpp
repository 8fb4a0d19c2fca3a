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

  MUSTER_FIELDS(Placement,
                MUSTER_FIELD(address, "PCI address"),
                MUSTER_FIELD(os_device, "the operating system's name"),
                MUSTER_FIELD(numa_nodes, "NUMA nodes it is local to, by hwloc"),
                MUSTER_FIELD(bridges, "bridges above it, nearest last"));
};

struct Topology {
  std::vector<Placement> devices;  // GPUs, HCAs and NVMe, sorted by address

  MUSTER_FIELDS(Topology, MUSTER_FIELD(devices, "GPUs, HCAs and NVMe as hwloc places them"));
};

}  // namespace muster
