// SPDX-License-Identifier: Apache-2.0
// Memory: proc/meminfo, the NUMA nodes of sysfs, huge pages in total and per node.
#include <fmt/format.h>

#include <numeric>

#include "tests/nodes/parts.hpp"

namespace muster::nodes {
namespace {

constexpr std::string_view kNodeFolder = "sys/devices/system/node";

std::string kib(std::string_view name, std::uint64_t value) {
  return fmt::format("{:<16}{:>8} kB\n", fmt::format("{}:", name), value);
}

std::string meminfo(const NodeDescription& node) {
  const auto total =
      std::accumulate(node.numa.begin(), node.numa.end(), std::uint64_t{0},
                      [](std::uint64_t sum, const auto& numa) { return sum + numa.memory_kib; });
  const HugePagesDescription none;
  const auto& pages = node.huge_pages.empty() ? none : node.huge_pages.front();
  std::string text;
  text.append(kib("MemTotal", total));
  text.append(kib("MemFree", node.available_kib / 100 * 98));
  text.append(kib("MemAvailable", node.available_kib));
  text.append(kib("Buffers", 104'220));
  text.append(kib("Cached", node.available_kib / 100));
  text.append(kib("SwapTotal", node.swap_kib));
  text.append(kib("SwapFree", node.swap_kib));
  text.append(fmt::format("HugePages_Total:{:>8}\nHugePages_Free: {:>8}\nHugePages_Rsvd: {:>8}\n",
                          pages.total, pages.free, 0));
  text.append(kib("Hugepagesize", pages.size_kib));
  return text;
}

void add_huge_pages(Tree& tree, std::string_view folder, const HugePagesDescription& pages) {
  const auto size = fmt::format("{}/hugepages-{}kB", folder, pages.size_kib);
  attribute(tree, size, "nr_hugepages", fmt::format("{}", pages.total));
  attribute(tree, size, "free_hugepages", fmt::format("{}", pages.free));
  attribute(tree, size, "surplus_hugepages", "0");
}

std::string distances(unsigned from, std::size_t nodes) {
  std::string text;
  for (unsigned to = 0; to < nodes; ++to) {
    text.append(fmt::format("{}{}", to == 0 ? "" : " ", to == from ? 10 : 21));
  }
  return text;
}

void add_numa_node(const NodeDescription& node, unsigned id, Tree& tree) {
  const auto folder = fmt::format("{}/node{}", kNodeFolder, id);
  const auto cpus = online_cpus_of(node, static_cast<int>(id));
  const auto memory = node.numa.at(id).memory_kib;
  attribute(tree, folder, "cpulist", cpu_list(cpus));
  attribute(tree, folder, "cpumap", cpu_mask(cpus, node.cpus.size()));
  attribute(tree, folder, "distance", distances(id, node.numa.size()));
  tree.file(fmt::format("{}/meminfo", folder),
            fmt::format("Node {0} MemTotal:       {1:>8} kB\nNode {0} MemFree:        {2:>8} kB\n"
                        "Node {0} MemUsed:        {3:>8} kB\nNode {0} HugePages_Total:     0\n"
                        "Node {0} HugePages_Free:      0\nNode {0} HugePages_Surp:      0\n",
                        id, memory, memory / 100 * 95, memory - memory / 100 * 95));
  tree.link(fmt::format("sys/bus/node/devices/node{}", id), folder);
  for (auto pages : node.huge_pages) {
    pages.total /= node.numa.size();
    pages.free /= node.numa.size();
    add_huge_pages(tree, fmt::format("{}/hugepages", folder), pages);
  }
}

}  // namespace

void render_memory(const NodeDescription& node, Tree& tree) {
  std::vector<unsigned> all;
  std::vector<unsigned> with_memory;
  for (unsigned id = 0; id < node.numa.size(); ++id) {
    all.push_back(id);
    if (node.numa.at(id).memory_kib > 0) with_memory.push_back(id);
    add_numa_node(node, id, tree);
  }
  attribute(tree, kNodeFolder, "online", cpu_list(all));
  attribute(tree, kNodeFolder, "possible", cpu_list(all));
  attribute(tree, kNodeFolder, "has_cpu", cpu_list(all));
  attribute(tree, kNodeFolder, "has_memory", cpu_list(with_memory));
  attribute(tree, kNodeFolder, "has_normal_memory", cpu_list(with_memory));
  for (const auto& pages : node.huge_pages) add_huge_pages(tree, "sys/kernel/mm/hugepages", pages);
  tree.file("proc/meminfo", meminfo(node));
}

}  // namespace muster::nodes
