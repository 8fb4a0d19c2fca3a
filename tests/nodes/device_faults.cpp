// SPDX-License-Identifier: Apache-2.0
// Faults of PCI devices and their places, and of NCCL's topology file.
#include <algorithm>
#include <iterator>

#include "lib/base/units.hpp"
#include "tests/nodes/faults.hpp"
#include "tests/nodes/needed.hpp"

namespace muster::nodes {
namespace {

std::vector<Fault> bus_faults() {
  return {
      fails("gpu_missing", kH100, "pci.devices", "0009:00:00.0",
            [](NodeDescription& node) { drop(node.gpus, 4); }),
      fails("gpu_off_the_bus", kH100, "pci.devices", "0003:00:00.0",
            [](NodeDescription& node) { node.gpus.at(2).pci.responding = false; }),
      fails("gpu_half_width", kH100, "pci.link", "0001:00:00.0",
            [](NodeDescription& node) { node.gpus.at(0).pci.width = 8; }),
      fails("hca_slow_link", kH100, "pci.link", "0106:00:00.0",
            [](NodeDescription& node) {
              node.hcas.at(5).pci.speed_gts = 16;
              node.hcas.at(5).pci.width = 8;
            }),
      fails("hca_half_width", kBareMetal, "pci.link", "0000:33:00.0",
            [](NodeDescription& node) { node.hcas.at(2).pci.width = 8; }),
  };
}

std::vector<Fault> error_faults() {
  return {
      seen_before(kHour, fails("aer_fatal", kBareMetal, "pci.errors", "0000:12:00.0",
                               [](NodeDescription& node) { node.gpus.at(0).pci.fatal = 1; })),
      seen_before(kHour, fails("aer_non_fatal", kBareMetal, "pci.errors", "0000:23:00.0",
                               [](NodeDescription& node) { node.hcas.at(1).pci.non_fatal = 2; })),
      seen_before(kHour,
                  warns("aer_correctable", kBareMetal, "pci.errors", "0000:92:00.0",
                        [](NodeDescription& node) { node.gpus.at(4).pci.correctable = 5000; })),
      warns("acs_on", kBareMetal, "pci.acs", "0000:11:00.0",
            [](NodeDescription& node) {
              node.gpus.at(0).pci.acs = true;
              node.gpus.at(0).pci.acs_control = 0x1d;
            }),
      warns("payload_small", kBareMetal, "pci.payload", "0000:a2:00.0",
            [](NodeDescription& node) { node.gpus.at(5).pci.payload_bytes = 128; }),
  };
}

std::vector<Fault> place_faults() {
  return {
      fails("gpu_on_other_numa_node", kH100, "topo.numa", "0002:00:00.0",
            [](NodeDescription& node) { node.gpus.at(1).pci.numa = 1; }),
      fails("numa_sources_disagree", kA100, "topo.numa", "0001:00:00.0",
            [](NodeDescription& node) { node.gpus.at(0).pci.local_to = 3; }),
      fails("hca_on_another_switch", kBareMetal, "topo.pairing", "0000:12:00.0",
            [](NodeDescription& node) { node.hcas.at(0).pci.bridges = {"0000:00:09.0"}; }),
  };
}

std::vector<Fault> nccl_faults() {
  return {
      fails("nccl_topology_missing", kH100, "topo.nccl_file", "/opt/microsoft/ndv5/topo.xml",
            [](Tree& tree) { tree.remove("opt/microsoft"); }),
      fails("nccl_topology_of_another_sku", kH100, "topo.nccl_file", "/opt/microsoft/ndv5/topo.xml",
            [](Tree& tree) {
              // GPUs where ND A100 v4 has them: four of the eight addresses do not exist here.
              std::string text = needed(tree, "opt/microsoft/ndv5-topo.xml");
              for (std::size_t at = text.find("\"000a:"); at != std::string::npos;
                   at = text.find("\"000a:", at)) {
                text.replace(at, 6, "\"000e:");
              }
              tree.file("opt/microsoft/ndv5-topo.xml", text);
            }),
      fails("nccl_topology_garbled", kA100, "topo.nccl_file", "/opt/microsoft/ndv4/topo.xml",
            [](Tree& tree) {
              static_cast<void>(needed(tree, "opt/microsoft/ndv4-topo.xml"));
              tree.file("opt/microsoft/ndv4-topo.xml", "<system version=\"1\"><cpu numaid=");
            }),
      warns("nccl_conf_missing", kH100, "env.nccl", "node",
            [](NodeDescription& node) { node.nccl_conf.clear(); }),
      warns("nccl_p2p_disabled", kH100, "env.nccl", "NCCL_P2P_DISABLE",
            [](NodeDescription& node) { node.nccl_conf.emplace_back("NCCL_P2P_DISABLE", "1"); }),
      warns("nccl_ib_disabled", kA100, "env.nccl", "NCCL_IB_DISABLE",
            [](NodeDescription& node) { node.nccl_conf.emplace_back("NCCL_IB_DISABLE", "1"); }),
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
