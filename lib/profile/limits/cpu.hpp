// SPDX-License-Identifier: Apache-2.0
// What a node's processors must be, and how busy they may be.
#pragma once

#include "lib/base/fields.hpp"
#include "lib/profile/limits/limit.hpp"

namespace muster {

struct CpuLimits {
  MUSTER_DESCRIBED(CpuLimits);
  MUSTER_FIELD(Limit<int>, sockets, "sockets");
  MUSTER_FIELD(Limit<int>, cores, "cores");
  MUSTER_FIELD(Limit<int>, threads, "online logical CPUs");
  MUSTER_FIELD(Limit<int>, numa_nodes, "NUMA nodes that have CPUs");
};

struct LoadLimits {
  MUSTER_DESCRIBED(LoadLimits);
  MUSTER_FIELD(Limit<double>, warn_above_per_core, "5-minute load average per core");
  MUSTER_FIELD(Limit<double>, running_warn_above_per_core, "runnable tasks per core");
};

}  // namespace muster
