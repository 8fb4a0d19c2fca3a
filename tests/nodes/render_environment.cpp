// SPDX-License-Identifier: Apache-2.0
// The environment of jobs: mounts, NCCL's configuration and topology file, the NVIDIA driver's
// folder in proc, programs, and the site's muster.yaml.
#include <fmt/format.h>

#include "tests/nodes/parts.hpp"

namespace muster::nodes {
namespace {

void add_mounts(const NodeDescription& node, Tree& tree) {
  std::string text;
  for (const auto& mount : node.mounts) {
    text.append(
        fmt::format("{} {} {} {} 0 0\n", mount.source, mount.point, mount.type, mount.options));
    const std::string point = mount.point.substr(1);
    // A mount point without other contents is an empty folder.
    if (!point.empty() && point != "proc" && point != "sys" && point != "dev" && point != "run" &&
        point != "sys/fs/cgroup") {
      tree.directory(point);
    }
  }
  tree.file("proc/mounts", std::move(text));
}

std::string pci_element(const PciDescription& pci) {
  return fmt::format(
      "      <pci busid=\"{}\" class=\"{:#08x}\" link_speed=\"{:.1f} GT/s PCIe\" "
      "link_width=\"16\"/>\n",
      pci.address, pci.class_code, pci.max_speed_gts);
}

// The i-th GPU and the i-th HCA share a switch that only exists in the file.
std::string nccl_topology(const NodeDescription& node) {
  std::string text = "<system version=\"1\">\n";
  unsigned invented = 0;
  for (int numa = 0; numa < static_cast<int>(node.numa.size()); ++numa) {
    text.append(
        fmt::format("  <cpu numaid=\"{}\" affinity=\"{}\" arch=\"x86_64\" vendor=\"{}\" "
                    "familyid=\"{}\" modelid=\"{}\">\n",
                    numa, cpu_mask(online_cpus_of(node, numa), node.cpus.size()),
                    node.cpu_model.vendor, node.cpu_model.family, node.cpu_model.model));
    unsigned on_switch = 0;
    for (std::size_t i = 0; i < node.gpus.size(); ++i) {
      if (node.gpus[i].pci.numa != numa) continue;
      if (on_switch == 0) {
        text.append(
            fmt::format("    <pci busid=\"ffff:ff:{:02x}.0\" class=\"0x060400\" "
                        "link_speed=\"{:.1f} GT/s PCIe\" link_width=\"16\" vendor=\"0x1000\">\n",
                        ++invented, node.gpus[i].pci.max_speed_gts));
      }
      text.append(pci_element(node.gpus[i].pci));
      if (i < node.hcas.size()) text.append(pci_element(node.hcas[i].pci));
      on_switch = (on_switch + 1) % node.nccl_topology.per_switch;
      if (on_switch == 0) text.append("    </pci>\n");
    }
    text.append("  </cpu>\n");
  }
  return text.append("</system>\n");
}

void add_nccl(const NodeDescription& node, Tree& tree) {
  if (!node.nccl_conf.empty()) {
    std::string text;
    for (const auto& [name, value] : node.nccl_conf)
      text.append(fmt::format("{}={}\n", name, value));
    tree.file("etc/nccl.conf", std::move(text));
  }
  const auto& topology = node.nccl_topology;
  if (topology.path.empty()) return;
  tree.file(topology.target, nccl_topology(node));
  tree.link(topology.path, topology.target);
}

void add_gpu_driver(const NodeDescription& node, Tree& tree) {
  if (node.gpus.empty()) return;
  tree.file("proc/driver/nvidia/version",
            fmt::format("NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  {}  Release "
                        "Build\nGCC version:  gcc version 11.4.0 (Ubuntu 11.4.0-1ubuntu1~22.04)\n",
                        node.nvml.driver));
  for (std::size_t i = 0; i < node.gpus.size(); ++i) {
    const auto& gpu = node.gpus[i];
    tree.file(fmt::format("proc/driver/nvidia/gpus/{}/information", gpu.pci.address),
              fmt::format("Model: \t\t {}\nIRQ:   \t\t 0\nGPU UUID: \t {}\n"
                          "Video BIOS: \t {}\nBus Type: \t PCIe\nBus Location: \t {}\n"
                          "Device Minor: \t {}\nGPU Excluded:\t No\n",
                          gpu.model, gpu.uuid, gpu.facts.firmware.vbios.value_or("??.??.??.??.??"),
                          gpu.pci.address, i));
  }
}

}  // namespace

void render_environment(const NodeDescription& node, Tree& tree) {
  for (const char* folder : {"etc", "opt", "tmp", "usr/bin", "var/lib/muster"})
    tree.directory(folder);
  for (const auto& folder : node.directories) tree.directory(folder);
  add_mounts(node, tree);
  add_nccl(node, tree);
  add_gpu_driver(node, tree);
  for (const auto& program : node.programs) tree.program(program);
  if (!node.site.empty()) tree.file("etc/muster/muster.yaml", node.site);
}

}  // namespace muster::nodes
