// SPDX-License-Identifier: Apache-2.0
// What a node's processors must be, and how busy they may be.
#pragma once

#include "lib/base/fields.hpp"
#include "lib/profile/limits/limit.hpp"

namespace muster {

struct CpuLimits {
  Limit<int> sockets, cores, threads, numa_nodes;

  MUSTER_FIELDS(CpuLimits,
                MUSTER_FIELD(sockets, "sockets"),
                MUSTER_FIELD(cores, "cores"),
                MUSTER_FIELD(threads, "online logical CPUs"),
                MUSTER_FIELD(numa_nodes, "NUMA nodes that have CPUs"));
};

struct LoadLimits {
  Limit<double> warn_above_per_core, running_warn_above_per_core;

  MUSTER_FIELDS(LoadLimits,
                MUSTER_FIELD(warn_above_per_core, "5-minute load average per core"),
                MUSTER_FIELD(running_warn_above_per_core, "runnable tasks per core"));
};

}  // namespace muster
