// SPDX-License-Identifier: Apache-2.0
// The parts of render(): each adds one area of the tree. They write disjoint files.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <vector>

#include "tests/nodes/node.hpp"
#include "tests/nodes/tree.hpp"

namespace muster::nodes {

void render_processors(const NodeDescription& node, Tree& tree);
void render_memory(const NodeDescription& node, Tree& tree);
void render_pci(const NodeDescription& node, Tree& tree);
void render_amd(const NodeDescription& node, Tree& tree);
void render_infiniband(const NodeDescription& node, Tree& tree);
void render_network(const NodeDescription& node, Tree& tree);
void render_disks(const NodeDescription& node, Tree& tree);
void render_processes(const NodeDescription& node, Tree& tree);
void render_kernel(const NodeDescription& node, Tree& tree);
void render_environment(const NodeDescription& node, Tree& tree);
void render_nvml(const NodeDescription& node, Tree& tree);

// Adds one interface below `parent`, the folder of its device, and its link in sys/class/net.
void render_interface(const NetdevDescription& netdev, std::string_view parent, unsigned index,
                      Tree& tree);

// "name\n": the form of nearly every sysfs attribute.
template <class T>
void attribute(Tree& tree, std::string_view folder, std::string_view name, const T& value) {
  tree.file(fmt::format("{}/{}", folder, name), fmt::format("{}\n", value));
}

// "0-3,8" and "00000000,0000000f", the kernel's two forms of a CPU set. The mask has as many words
// as `possible` CPUs need.
[[nodiscard]] std::string cpu_list(const std::vector<unsigned>& cpus);
[[nodiscard]] std::string cpu_mask(const std::vector<unsigned>& cpus, std::size_t possible);
[[nodiscard]] std::vector<unsigned> online_cpus_of(const NodeDescription& node, int numa);

// All PCI functions of the node except the bridges above them.
[[nodiscard]] std::vector<const PciDescription*> functions_of(const NodeDescription& node);

// The 4096 bytes of configuration space. `bridge` makes a type 1 header with these buses.
struct BridgeBuses {
  unsigned primary = 0, secondary = 0, subordinate = 0;
  unsigned port_type = 0;  // 4 root port, 5 upstream, 6 downstream; 0 for no bridge
};

[[nodiscard]] std::string config_space(const PciDescription& pci, const BridgeBuses& bridge = {});

}  // namespace muster::nodes
