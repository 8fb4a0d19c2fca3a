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
  MUSTER_DESCRIBED(NumaNode);
  MUSTER_FIELD(unsigned, id, "the kernel's number") = 0;
  MUSTER_FIELD(Fact<std::string>, cpus, "list of its CPUs; empty for memory only");
  MUSTER_FIELD(Fact<std::uint64_t>, memory_bytes, "MemTotal of the node");
  MUSTER_FIELD(Fact<std::uint64_t>, page_cache_bytes, "FilePages of the node");
};

struct Cpu {
  MUSTER_DESCRIBED(Cpu);
  MUSTER_FIELD(Fact<unsigned>, sockets, "sockets with an online CPU");
  MUSTER_FIELD(Fact<unsigned>, cores, "cores with an online CPU");
  MUSTER_FIELD(Fact<unsigned>, threads, "online logical CPUs");
  MUSTER_FIELD(Fact<std::string>, offline, "present CPUs that are not online, as a list");
  MUSTER_FIELD(Fact<std::string>, model, "model name of proc/cpuinfo");
  MUSTER_FIELD(Fact<std::vector<NumaNode>>, numa_nodes, "NUMA nodes that are online");
};

}  // namespace muster
