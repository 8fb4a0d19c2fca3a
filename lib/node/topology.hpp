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
  // mlx5_ib0, ib0, nvme0n1; empty for GPUs.
  MUSTER_FIELD(std::string, os_device, "the operating system's name");
  // hwloc's word, from local_cpus; several when it is not one.
  MUSTER_FIELD(std::vector<unsigned>, numa_nodes, "NUMA nodes it is local to, by hwloc");
  MUSTER_FIELD(std::vector<std::string>, bridges, "bridges above it, nearest last");
};

struct Topology {
  MUSTER_DESCRIBED(Topology);
  // GPUs, HCAs and NVMe, sorted by address.
  MUSTER_FIELD(std::vector<Placement>, devices, "GPUs, HCAs and NVMe as hwloc places them");
};

}  // namespace muster
