// SPDX-License-Identifier: Apache-2.0
// Processors: sys/devices/system/cpu with topology and caches, as hwloc reads them, and
// proc/cpuinfo. An offline CPU keeps its folder but has no topology and no caches.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "tests/nodes/parts.hpp"

namespace muster::nodes {
namespace {

constexpr std::string_view kCpuFolder = "sys/devices/system/cpu";

template <class Belongs>
std::vector<unsigned> online_where(const NodeDescription& node, Belongs belongs) {
  std::vector<unsigned> result;
  for (const auto& cpu : node.cpus) {
    if (cpu.online && belongs(cpu)) result.push_back(cpu.id);
  }
  return result;
}

void add_set(Tree& tree, std::string_view folder, std::string_view mask_name,
             std::string_view list_name, const std::vector<unsigned>& cpus, std::size_t possible) {
  attribute(tree, folder, mask_name, cpu_mask(cpus, possible));
  attribute(tree, folder, list_name, cpu_list(cpus));
}

void add_topology(const NodeDescription& node, const CpuDescription& cpu, Tree& tree) {
  const auto folder = fmt::format("{}/cpu{}/topology", kCpuFolder, cpu.id);
  const auto in_core = online_where(node, [&](const CpuDescription& other) {
    return other.socket == cpu.socket && other.core == cpu.core;
  });
  const auto in_socket =
      online_where(node, [&](const CpuDescription& other) { return other.socket == cpu.socket; });
  const auto possible = node.cpus.size();
  attribute(tree, folder, "physical_package_id", fmt::format("{}", cpu.socket));
  attribute(tree, folder, "core_id", fmt::format("{}", cpu.core));
  attribute(tree, folder, "die_id", "0");
  add_set(tree, folder, "thread_siblings", "thread_siblings_list", in_core, possible);
  add_set(tree, folder, "core_cpus", "core_cpus_list", in_core, possible);
  add_set(tree, folder, "core_siblings", "core_siblings_list", in_socket, possible);
  add_set(tree, folder, "package_cpus", "package_cpus_list", in_socket, possible);
}

struct Cache {
  unsigned level;
  std::string_view type;
  std::uint64_t kib;
  unsigned ways;
  unsigned cores;  // that share it
};

void add_caches(const NodeDescription& node, const CpuDescription& cpu, Tree& tree) {
  constexpr unsigned kLineBytes = 64;
  const std::array caches{
      Cache{1, "Data", 32, 8, 1}, Cache{1, "Instruction", 32, 8, 1},
      Cache{2, "Unified", 1024, 16, 1},
      Cache{3, "Unified", node.cpu_model.l3_kib, 16, node.cpu_model.cores_per_l3}};
  for (std::size_t i = 0; i < caches.size(); ++i) {
    const auto& cache = caches.at(i);
    const auto folder = fmt::format("{}/cpu{}/cache/index{}", kCpuFolder, cpu.id, i);
    const auto sharing = online_where(node, [&](const CpuDescription& other) {
      return other.socket == cpu.socket && other.core / cache.cores == cpu.core / cache.cores;
    });
    attribute(tree, folder, "level", fmt::format("{}", cache.level));
    attribute(tree, folder, "type", cache.type);
    attribute(tree, folder, "size", fmt::format("{}K", cache.kib));
    attribute(tree, folder, "coherency_line_size", fmt::format("{}", kLineBytes));
    attribute(tree, folder, "ways_of_associativity", fmt::format("{}", cache.ways));
    attribute(tree, folder, "number_of_sets",
              fmt::format("{}", cache.kib * 1024 / kLineBytes / cache.ways));
    attribute(tree, folder, "physical_line_partition", "1");
    add_set(tree, folder, "shared_cpu_map", "shared_cpu_list", sharing, node.cpus.size());
  }
}

std::string cpuinfo(const NodeDescription& node) {
  const auto& model = node.cpu_model;
  std::string text;
  for (const auto& cpu : node.cpus) {
    if (!cpu.online) continue;
    const auto in_socket =
        online_where(node, [&](const CpuDescription& other) { return other.socket == cpu.socket; });
    text.append(fmt::format(
        "processor\t: {}\nvendor_id\t: {}\ncpu family\t: {}\nmodel\t\t: {}\nmodel name\t: {}\n"
        "stepping\t: 1\nmicrocode\t: 0xffffffff\ncpu MHz\t\t: 2445.436\ncache size\t: {} KB\n"
        "physical id\t: {}\nsiblings\t: {}\ncore id\t\t: {}\ncpu cores\t: {}\napicid\t\t: {}\n"
        "fpu\t\t: yes\nflags\t\t: fpu vme de pse tsc msr pae mce cx8 apic sep mtrr sse sse2 ht "
        "avx2{}\nbogomips\t: 4890.87\nclflush size\t: 64\ncache_alignment\t: 64\n"
        "address sizes\t: 48 bits physical, 48 bits virtual\npower management:\n\n",
        cpu.id, model.vendor, model.family, model.model, model.name, model.l3_kib, cpu.socket,
        in_socket.size(), cpu.core, in_socket.size(), cpu.id,
        node.system.hypervisor ? " hypervisor" : ""));
  }
  return text;
}

}  // namespace

void render_processors(const NodeDescription& node, Tree& tree) {
  std::vector<unsigned> present;
  std::vector<unsigned> offline;
  for (const auto& cpu : node.cpus) {
    const auto folder = fmt::format("{}/cpu{}", kCpuFolder, cpu.id);
    present.push_back(cpu.id);
    // CPU 0 cannot be taken offline, so it has no such file.
    if (cpu.id != 0) attribute(tree, folder, "online", cpu.online ? "1" : "0");
    if (cpu.online) {
      tree.link(fmt::format("{}/node{}", folder, cpu.numa),
                fmt::format("sys/devices/system/node/node{}", cpu.numa));
      add_topology(node, cpu, tree);
      add_caches(node, cpu, tree);
    } else {
      offline.push_back(cpu.id);
    }
  }
  attribute(tree, kCpuFolder, "online", cpu_list(online_cpus_of(node, -1)));
  attribute(tree, kCpuFolder, "offline", cpu_list(offline));
  attribute(tree, kCpuFolder, "present", cpu_list(present));
  attribute(tree, kCpuFolder, "possible", cpu_list(present));
  attribute(tree, kCpuFolder, "kernel_max", "8191");
  tree.file("proc/cpuinfo", cpuinfo(node));
}

}  // namespace muster::nodes
