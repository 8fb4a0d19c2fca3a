// SPDX-License-Identifier: Apache-2.0
// NVMe controllers with their namespaces, and md arrays, in sys/class/nvme, sys/block and
// proc/mdstat.
#include <fmt/format.h>

#include "tests/nodes/parts.hpp"
#include "tests/nodes/render.hpp"

namespace muster::nodes {
namespace {

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
  attribute(tree, controller, "numa_node", fmt::format("{}", disk.pci.numa));
  tree.link(fmt::format("{}/device", controller), pci);
  tree.link(fmt::format("{}/subsystem", controller), "sys/class/nvme");
  tree.link(fmt::format("sys/class/nvme/nvme{}", index), controller);
  if (disk.sectors == 0) return;
  const auto name = fmt::format("nvme{}n1", index);
  const auto space = fmt::format("{}/{}", controller, name);
  attribute(tree, space, "size", fmt::format("{}", disk.sectors));
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
  attribute(tree, md, "raid_disks", fmt::format("{}", array.disks));
  attribute(tree, md, "metadata_version", "1.2");
  if (array.degraded >= 0) attribute(tree, md, "degraded", fmt::format("{}", array.degraded));
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

void render_disks(const NodeDescription& node, Tree& tree) {
  tree.directory("sys/block");
  for (std::size_t i = 0; i < node.nvme.size(); ++i) add_nvme(node.nvme[i], i, tree);
  for (const auto& array : node.raid) add_array(array, tree);
  if (!node.raid.empty()) tree.file("proc/mdstat", mdstat(node));
}

}  // namespace muster::nodes
