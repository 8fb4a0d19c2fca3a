// SPDX-License-Identifier: Apache-2.0
// Facts about the processors and NUMA nodes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lib/base/fact.hpp"
#include "lib/base/fields.hpp"

namespace muster {

struct NumaNode {
  unsigned id = 0;
  Fact<std::string> cpus;  // "0-23"; empty for a node of memory only
  Fact<std::uint64_t> memory_bytes;
  Fact<std::uint64_t> page_cache_bytes;

  MUSTER_FIELDS(NumaNode,
                MUSTER_FIELD(id, "the kernel's number"),
                MUSTER_FIELD(cpus, "list of its CPUs; empty for memory only"),
                MUSTER_FIELD(memory_bytes, "MemTotal of the node"),
                MUSTER_FIELD(page_cache_bytes, "FilePages of the node"));
};

struct Cpu {
  Fact<unsigned> sockets;
  Fact<unsigned> cores;
  Fact<unsigned> threads;     // online logical CPUs
  Fact<std::string> offline;  // list of present CPUs that are not online; empty when none
  Fact<std::string> model;
  Fact<std::vector<NumaNode>> numa_nodes;

  MUSTER_FIELDS(Cpu,
                MUSTER_FIELD(sockets, "sockets with an online CPU"),
                MUSTER_FIELD(cores, "cores with an online CPU"),
                MUSTER_FIELD(threads, "online logical CPUs"),
                MUSTER_FIELD(offline, "present CPUs that are not online, as a list"),
                MUSTER_FIELD(model, "model name of proc/cpuinfo"),
                MUSTER_FIELD(numa_nodes, "NUMA nodes that are online"));
};

}  // namespace muster
