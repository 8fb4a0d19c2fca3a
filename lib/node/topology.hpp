// SPDX-License-Identifier: Apache-2.0
// Where hwloc places GPUs, HCAs and NVMe disks in the machine.
#pragma once

#include <string>
#include <vector>

#include "lib/base/fields.hpp"

namespace muster {

struct Placement {
  MUSTER_DESCRIBED(Placement);
  MUSTER_FIELD(std::string, address, "PCI address");
  MUSTER_FIELD(std::string, os_device, "mlx5_ib0, ib0, nvme0n1; empty for GPUs");
  MUSTER_FIELD(std::vector<unsigned>, numa_nodes, "NUMA nodes it is local to, according to hwloc");
  MUSTER_FIELD(std::vector<std::string>, bridges, "bridges above it, nearest last");
};

struct Topology {
  MUSTER_DESCRIBED(Topology);
  MUSTER_FIELD(std::vector<Placement>, devices, "GPUs, HCAs and NVMe disks, by address");
};

}  // namespace muster
