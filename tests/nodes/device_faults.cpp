// SPDX-License-Identifier: Apache-2.0
// What goes wrong on the PCI bus and with the places of devices, and with NCCL's idea of both.
#include <algorithm>
#include <iterator>

#include "lib/base/units.hpp"
#include "tests/nodes/faults.hpp"
#include "tests/nodes/needed.hpp"

namespace muster::nodes {
namespace {

std::vector<Fault> bus_faults() {
  return {
      {.name = "gpu_missing",
       .node = kH100,
       .check = "pci.devices",
       .device = "0009:00:00.0",
       .change = [](NodeDescription& node) { drop(node.gpus, 4); }},
      {.name = "gpu_off_the_bus",
       .node = kH100,
       .check = "pci.devices",
       .device = "0003:00:00.0",
       .change = [](NodeDescription& node) { node.gpus.at(2).pci.responding = false; }},
      {.name = "gpu_half_width",
       .node = kH100,
       .check = "pci.link",
       .device = "0001:00:00.0",
       .change = [](NodeDescription& node) { node.gpus.at(0).pci.width = 8; }},
      {.name = "hca_slow_link",
       .node = kH100,
       .check = "pci.link",
       .device = "0106:00:00.0",
       .change =
           [](NodeDescription& node) {
             node.hcas.at(5).pci.speed_gts = 16;
             node.hcas.at(5).pci.width = 8;
           }},
      {.name = "hca_half_width",
       .node = kBareMetal,
       .check = "pci.link",
       .device = "0000:33:00.0",
       .change = [](NodeDescription& node) { node.hcas.at(2).pci.width = 8; }},
  };
}

std::vector<Fault> error_faults() {
  return {
      {.name = "aer_fatal",
       .node = kBareMetal,
       .check = "pci.errors",
       .device = "0000:12:00.0",
       .change = [](NodeDescription& node) { node.gpus.at(0).pci.fatal = 1; },
       .earlier_s = kHour},
      {.name = "aer_non_fatal",
       .node = kBareMetal,
       .check = "pci.errors",
       .device = "0000:23:00.0",
       .change = [](NodeDescription& node) { node.hcas.at(1).pci.non_fatal = 2; },
       .earlier_s = kHour},
      {.name = "aer_correctable",
       .node = kBareMetal,
       .check = "pci.errors",
       .device = "0000:92:00.0",
       .outcome = Outcome::warn,
       .change = [](NodeDescription& node) { node.gpus.at(4).pci.correctable = 5000; },
       .earlier_s = kHour},
      {.name = "acs_on",
       .node = kBareMetal,
       .check = "pci.acs",
       .device = "0000:11:00.0",
       .outcome = Outcome::warn,
       .change =
           [](NodeDescription& node) {
             node.gpus.at(0).pci.acs = true;
             node.gpus.at(0).pci.acs_control = 0x1d;
           }},
      {.name = "payload_small",
       .node = kBareMetal,
       .check = "pci.payload",
       .device = "0000:a2:00.0",
       .outcome = Outcome::warn,
       .change = [](NodeDescription& node) { node.gpus.at(5).pci.payload_bytes = 128; }},
  };
}

std::vector<Fault> place_faults() {
  return {
      {.name = "gpu_on_other_numa_node",
       .node = kH100,
       .check = "topo.numa",
       .device = "0002:00:00.0",
       .change = [](NodeDescription& node) { node.gpus.at(1).pci.numa = 1; }},
      {.name = "numa_sources_disagree",
       .node = kA100,
       .check = "topo.numa",
       .device = "0001:00:00.0",
       .change = [](NodeDescription& node) { node.gpus.at(0).pci.local_to = 3; }},
      {.name = "hca_on_another_switch",
       .node = kBareMetal,
       .check = "topo.pairing",
       .device = "0000:12:00.0",
       .change = [](NodeDescription& node) { node.hcas.at(0).pci.bridges = {"0000:00:09.0"}; }},
  };
}

std::vector<Fault> nccl_faults() {
  return {
      {.name = "nccl_topology_missing",
       .node = kH100,
       .check = "topo.nccl_file",
       .device = "/opt/microsoft/ndv5/topo.xml",
       .damage = [](Tree& tree) { tree.remove("opt/microsoft"); }},
      {.name = "nccl_topology_of_another_sku",
       .node = kH100,
       .check = "topo.nccl_file",
       .device = "/opt/microsoft/ndv5/topo.xml",
       .damage =
           [](Tree& tree) {
             // GPUs where ND A100 v4 has them: four of the eight addresses do not exist here.
             std::string text = needed(tree, "opt/microsoft/ndv5-topo.xml");
             for (std::size_t at = text.find("\"000a:"); at != std::string::npos;
                  at = text.find("\"000a:", at)) {
               text.replace(at, 6, "\"000e:");
             }
             tree.file("opt/microsoft/ndv5-topo.xml", text);
           }},
      {.name = "nccl_topology_garbled",
       .node = kA100,
       .check = "topo.nccl_file",
       .device = "/opt/microsoft/ndv4/topo.xml",
       .damage =
           [](Tree& tree) {
             static_cast<void>(needed(tree, "opt/microsoft/ndv4-topo.xml"));
             tree.file("opt/microsoft/ndv4-topo.xml", "<system version=\"1\"><cpu numaid=");
           }},
      {.name = "nccl_conf_missing",
       .node = kH100,
       .check = "env.nccl",
       .device = "node",
       .outcome = Outcome::warn,
       .change = [](NodeDescription& node) { node.nccl_conf.clear(); }},
      {.name = "nccl_p2p_disabled",
       .node = kH100,
       .check = "env.nccl",
       .device = "NCCL_P2P_DISABLE",
       .outcome = Outcome::warn,
       .change =
           [](NodeDescription& node) { node.nccl_conf.emplace_back("NCCL_P2P_DISABLE", "1"); }},
      {.name = "nccl_ib_disabled",
       .node = kA100,
       .check = "env.nccl",
       .device = "NCCL_IB_DISABLE",
       .outcome = Outcome::warn,
       .change =
           [](NodeDescription& node) { node.nccl_conf.emplace_back("NCCL_IB_DISABLE", "1"); }},
  };
}

}  // namespace

std::vector<Fault> device_faults() {
  auto faults = bus_faults();
  std::ranges::move(error_faults(), std::back_inserter(faults));
  std::ranges::move(place_faults(), std::back_inserter(faults));
  std::ranges::move(nccl_faults(), std::back_inserter(faults));
  return faults;
}

}  // namespace muster::nodes
