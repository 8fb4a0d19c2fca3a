// SPDX-License-Identifier: Apache-2.0
// Parts that all simulated nodes share: processors, memory, tasks and log lines of a running
// system.
#include "tests/nodes/node.hpp"

#include <fmt/format.h>

namespace muster::nodes {

void give_processors(NodeDescription& node, unsigned sockets, unsigned cores, unsigned threads,
                     unsigned numa_nodes) {
  const unsigned all_cores = sockets * cores;
  node.cpus.clear();
  for (unsigned id = 0; id < all_cores * threads; ++id) {
    const unsigned core = id % all_cores;
    node.cpus.push_back({.id = id,
                         .socket = core / cores,
                         .core = core % cores,
                         .numa = core / (all_cores / numa_nodes)});
  }
  node.numa.resize(numa_nodes);
}

void give_memory(NodeDescription& node, std::uint64_t total_kib) {
  for (auto& numa : node.numa) numa.memory_kib = total_kib / node.numa.size();
  node.numa.front().memory_kib += total_kib % node.numa.size();
  node.available_kib = total_kib / 100 * 97;
}

NodeDescription busy(NodeDescription node) {
  for (unsigned pid = 5000; node.processes.size() < 100; ++pid) {
    node.processes.push_back({.pid = pid,
                              .parent = 1,
                              .name = fmt::format("worker-{}", pid - 5000),
                              .start_ticks = 360000 + pid});
  }
  while (node.kernel_log.size() < 2000) {
    const auto i = node.kernel_log.size();
    node.kernel_log.push_back(
        {.level = 6,
         .time_us = 60'000'000 + i * 41'000'000,
         .text = fmt::format("audit: type=1400 audit({}.123:{}): apparmor=\"STATUS\" operation=\"pr"
                             "ofile_load\" profile=\"unconfined\" name=\"profile-{}\"",
                             1'700'000'000 + i * 41, i, i % 37)});
  }
  return node;
}

const std::vector<NamedNode>& all_nodes() {
  static const std::vector<NamedNode> nodes{
      {"nd40rs_v2", nd40rs_v2},
      {"nd96asr_v4", nd96asr_v4},
      {"nd96amsr_a100_v4", nd96amsr_a100_v4},
      {"nd96isr_h100_v5", nd96isr_h100_v5},
      {"nd96isr_mi300x_v5", nd96isr_mi300x_v5},
      {"bare_metal_h100", bare_metal_h100},
      {"hb176rs_v4", hb176rs_v4},
      {"laptop", laptop},
  };
  return nodes;
}

}  // namespace muster::nodes
