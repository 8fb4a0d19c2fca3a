// SPDX-License-Identifier: Apache-2.0
// Processors, as hwloc reads them from sys/devices/system/cpu; memory and huge pages, of the
// machine and by NUMA node; NVMe controllers with their namespaces, and md arrays. An offline CPU
// keeps its folder but has no topology and no caches.
#include <fmt/format.h>

#include <array>
#include <numeric>

#include "tests/nodes/parts.hpp"
#include "tests/nodes/render.hpp"

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
  attribute(tree, folder, "physical_package_id", cpu.socket);
  attribute(tree, folder, "core_id", cpu.core);
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
    attribute(tree, folder, "level", cache.level);
    attribute(tree, folder, "type", cache.type);
    attribute(tree, folder, "size", fmt::format("{}K", cache.kib));
    attribute(tree, folder, "coherency_line_size", kLineBytes);
    attribute(tree, folder, "ways_of_associativity", cache.ways);
    attribute(tree, folder, "number_of_sets", cache.kib * 1024 / kLineBytes / cache.ways);
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
  attribute(tree, size, "nr_hugepages", pages.total);
  attribute(tree, size, "free_hugepages", pages.free);
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

void add_block_device(std::string_view name, const std::string& folder, Tree& tree) {
  tree.link(fmt::format("sys/block/{}", name), folder);
  tree.link(fmt::format("sys/class/block/{}", name), folder);
  tree.link(fmt::format("{}/subsystem", folder), "sys/class/block");
}

void add_nvme(const NvmeDescription& disk, std::size_t index, Tree& tree) {
  const auto pci = device_path(disk.pci);
  const auto controller = fmt::format("{}/nvme/nvme{}", pci, index);
  attribute(tree, controller, "state", disk.state);
  // Padded with blanks to 40 bytes, as the controller gives it.
  attribute(tree, controller, "model", fmt::format("{:<40}", disk.model));
  attribute(tree, controller, "serial", fmt::format("{:<20}", fmt::format("6A2F{:08}", index)));
  attribute(tree, controller, "firmware_rev", disk.firmware);
  attribute(tree, controller, "transport", "pcie");
  attribute(tree, controller, "address", disk.pci.address);
  attribute(tree, controller, "numa_node", disk.pci.numa);
  tree.link(fmt::format("{}/device", controller), pci);
  tree.link(fmt::format("{}/subsystem", controller), "sys/class/nvme");
  tree.link(fmt::format("sys/class/nvme/nvme{}", index), controller);
  if (disk.sectors == 0) return;
  const auto name = fmt::format("nvme{}n1", index);
  const auto space = fmt::format("{}/{}", controller, name);
  attribute(tree, space, "size", disk.sectors);
  attribute(tree, space, "ro", disk.read_only ? "1" : "0");
  attribute(tree, space, "removable", "0");
  attribute(tree, space, "nsid", "1");
  attribute(tree, space, "dev", fmt::format("259:{}", index));
  attribute(tree, fmt::format("{}/queue", space), "rotational", "0");
  attribute(tree, fmt::format("{}/queue", space), "logical_block_size", "512");
  tree.link(fmt::format("{}/device", space), controller);
  add_block_device(name, space, tree);
}

void add_array(const RaidDescription& array, Tree& tree) {
  const auto folder = fmt::format("sys/devices/virtual/block/{}", array.name);
  const auto md = fmt::format("{}/md", folder);
  attribute(tree, folder, "size", "60011812224");
  attribute(tree, folder, "ro", "0");
  attribute(tree, folder, "dev", "9:0");
  attribute(tree, md, "level", array.level);
  attribute(tree, md, "array_state", array.state);
  attribute(tree, md, "raid_disks", array.disks);
  attribute(tree, md, "metadata_version", "1.2");
  if (array.degraded >= 0) attribute(tree, md, "degraded", array.degraded);
  add_block_device(array.name, folder, tree);
}

std::string mdstat(const NodeDescription& node) {
  std::string text = "Personalities : [raid0] [raid1] [raid10]\n";
  for (const auto& array : node.raid) {
    text.append(fmt::format("{} : {} {}", array.name,
                            array.state == "inactive" ? "inactive" : "active", array.level));
    for (unsigned i = 0; i < array.disks; ++i) text.append(fmt::format(" nvme{}n1[{}]", i, i));
    text.append("\n      30005906112 blocks super 1.2 512k chunks\n\n");
  }
  return text.append("unused devices: <none>\n");
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

void render_disks(const NodeDescription& node, Tree& tree) {
  tree.directory("sys/block");
  for (std::size_t i = 0; i < node.nvme.size(); ++i) add_nvme(node.nvme[i], i, tree);
  for (const auto& array : node.raid) add_array(array, tree);
  if (!node.raid.empty()) tree.file("proc/mdstat", mdstat(node));
}

}  // namespace muster::nodes
