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

  template <class Self = NumaNode>
  static constexpr auto fields() {
    return std::tuple{field("id", &Self::id, "the kernel's number"),
                      field("cpus", &Self::cpus, "list of its CPUs; empty for memory only"),
                      field("memory_bytes", &Self::memory_bytes, "MemTotal of the node")};
  }

  bool operator==(const NumaNode&) const = default;
};

struct Cpu {
  Fact<unsigned> sockets;
  Fact<unsigned> cores;
  Fact<unsigned> threads;     // online logical CPUs
  Fact<std::string> offline;  // list of present CPUs that are not online; empty when none
  Fact<std::string> model;
  Fact<std::vector<NumaNode>> numa_nodes;

  template <class Self = Cpu>
  static constexpr auto fields() {
    return std::tuple{
        field("sockets", &Self::sockets, "sockets with an online CPU"),
        field("cores", &Self::cores, "cores with an online CPU"),
        field("threads", &Self::threads, "online logical CPUs"),
        field("offline", &Self::offline, "present CPUs that are not online, as a list"),
        field("model", &Self::model, "model name of proc/cpuinfo"),
        field("numa_nodes", &Self::numa_nodes, "NUMA nodes that are online")};
  }

  bool operator==(const Cpu&) const = default;
};

}  // namespace muster
