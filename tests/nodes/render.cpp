// SPDX-License-Identifier: Apache-2.0
#include "tests/nodes/render.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "tests/nodes/parts.hpp"

namespace muster::nodes {

Tree render(const NodeDescription& node) {
  Tree tree;
  render_processors(node, tree);
  render_memory(node, tree);
  render_pci(node, tree);
  render_amd(node, tree);
  render_infiniband(node, tree);
  render_network(node, tree);
  render_disks(node, tree);
  render_processes(node, tree);
  render_kernel(node, tree);
  render_environment(node, tree);
  render_nvml(node, tree);
  return tree;
}

void attribute(Tree& tree, std::string_view folder, std::string_view name, std::string_view value) {
  tree.file(fmt::format("{}/{}", folder, name), fmt::format("{}\n", value));
}

std::string cpu_list(const std::vector<unsigned>& cpus) {
  std::string text;
  for (std::size_t i = 0; i < cpus.size();) {
    std::size_t last = i;
    while (last + 1 < cpus.size() && cpus[last + 1] == cpus[last] + 1) ++last;
    if (!text.empty()) text.push_back(',');
    text.append(last == i ? fmt::format("{}", cpus[i]) : fmt::format("{}-{}", cpus[i], cpus[last]));
    i = last + 1;
  }
  return text;
}

std::string cpu_mask(const std::vector<unsigned>& cpus, std::size_t possible) {
  std::vector<std::uint32_t> words((possible + 31) / 32, 0);
  for (const unsigned cpu : cpus) words.at(cpu / 32) |= 1U << (cpu % 32);
  std::string text;
  std::ranges::reverse(words);
  for (const auto word : words) {
    text.append(fmt::format("{}{:08x}", text.empty() ? "" : ",", word));
  }
  return text;
}

std::vector<unsigned> online_cpus_of(const NodeDescription& node, int numa) {
  std::vector<unsigned> result;
  for (const auto& cpu : node.cpus) {
    if (cpu.online && (numa < 0 || cpu.numa == static_cast<unsigned>(numa)))
      result.push_back(cpu.id);
  }
  return result;
}

}  // namespace muster::nodes
