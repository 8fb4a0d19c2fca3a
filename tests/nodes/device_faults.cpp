// SPDX-License-Identifier: Apache-2.0
// Faults of PCI devices and their places, of NCCL's topology file, and of InfiniBand: ports, rates,
// keys, addresses, counters and interfaces.
#include <fmt/format.h>

#include <array>

#include "lib/base/units.hpp"
#include "tests/nodes/faults.hpp"
#include "tests/nodes/needed.hpp"
#include "tests/nodes/render.hpp"

namespace muster::nodes {
namespace {

// The function is on the bus, but no driver has made an RDMA device of it.
void unbind_third_hca(Tree& tree) {
  const auto hca = nd96isr_h100_v5().hcas[2];
  const auto pci = device_path(hca.pci);
  static_cast<void>(needed(tree, fmt::format("{}/config", pci)));
  for (const char* part : {"driver", "infiniband", "infiniband_mad", "infiniband_verbs", "net"}) {
    tree.remove(fmt::format("{}/{}", pci, part));
  }
  tree.remove(fmt::format("sys/bus/pci/drivers/mlx5_core/{}", hca.pci.address));
  tree.remove(fmt::format("sys/class/infiniband/{}", hca.name));
  tree.remove(fmt::format("sys/class/net/{}", hca.netdev.name));
  tree.remove("sys/class/infiniband_mad/umad2");
  tree.remove("sys/class/infiniband_verbs/uverbs2");
}

// The HCAs are bound to their driver, but the RDMA core offers none of them.
void unload_rdma_stack(Tree& tree) {
  for (const char* part : {"infiniband", "infiniband_mad", "infiniband_verbs"}) {
    tree.remove(fmt::format("sys/class/{}", part));
  }
}

constexpr std::array kDeviceFaults{
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
    fails("gpu_on_other_numa_node", kH100, "topo.numa", "0002:00:00.0",
          [](NodeDescription& node) { node.gpus.at(1).pci.numa = 1; }),
    fails("numa_sources_disagree", kA100, "topo.numa", "0001:00:00.0",
          [](NodeDescription& node) { node.gpus.at(0).pci.local_to = 3; }),
    fails("hca_on_another_switch", kBareMetal, "topo.pairing", "0000:12:00.0",
          [](NodeDescription& node) { node.hcas.at(0).pci.bridges = {"0000:00:09.0"}; }),
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

constexpr std::array kInfinibandFaults{
    fails("hca_missing", kH100, "pci.devices", "0103:00:00.0",
          [](NodeDescription& node) { drop(node.hcas, 2); }),
    fails("hca_without_driver", kH100, "ib.present", "0103:00:00.0", unbind_third_hca),
    fails("rdma_stack_not_loaded", kH100, "ib.present", "node", unload_rdma_stack),
    fails("port_down", kH100, "ib.state", "mlx5_ib3",
          [](HcaDescription& hca) {
            hca.state = "1: DOWN";
            hca.physical_state = "2: Polling";
            hca.rate = "10 Gb/sec (4X SDR)";
            hca.lid = hca.sm_lid = 0;
            take_down(hca.netdev);
          }),
    fails("port_disabled", kA100, "ib.state", "mlx5_ib7",
          [](HcaDescription& hca) {
            hca.state = "1: DOWN";
            hca.physical_state = "3: Disabled";
            take_down(hca.netdev);
          }),
    fails("port_init", kH100, "ib.state", "mlx5_ib0",
          [](HcaDescription& hca) {
            hca.state = "2: INIT";
            hca.lid = hca.sm_lid = 0;
            take_down(hca.netdev);
          }),
    fails("port_half_width", kH100, "ib.rate", "mlx5_ib5",
          [](HcaDescription& hca) { hca.rate = "200 Gb/sec (2X NDR)"; }),
    fails("port_slow_lanes", kA100, "ib.rate", "mlx5_ib1",
          [](HcaDescription& hca) { hca.rate = "100 Gb/sec (4X EDR)"; }),
    fails("port_unnamed_speed", kH100, "ib.rate", "mlx5_ib6",
          [](HcaDescription& hca) { hca.rate = "10 Gb/sec (4X SDR)"; }),
    warns("firmware_differs", kH100, "ib.firmware", "mlx5_ib4",
          [](HcaDescription& hca) { hca.firmware = "28.35.2000"; }),
    fails("pkey_limited_only", kH100, "ib.pkey", "mlx5_ib1",
          [](HcaDescription& hca) { hca.pkeys = {0x7fff}; }),
    fails("pkey_differs", kA100, "ib.pkey", "mlx5_ib2",
          [](HcaDescription& hca) {
            hca.pkeys = {0x8021, 0x7fff};
          }),
    fails("lid_unassigned", kH100, "ib.address", "mlx5_ib2",
          [](HcaDescription& hca) { hca.lid = 0; }),
    fails("subnet_manager_unknown", kA100, "ib.address", "mlx5_ib0",
          [](HcaDescription& hca) { hca.sm_lid = 0; }),
    fails("gid_prefix_differs", kH100, "ib.address", "mlx5_ib7",
          [](HcaDescription& hca) { hca.gid_prefix = "fec0:0000:0000:0001"; }),
    warns("netdev_missing", kH100, "ib.netdev", "mlx5_ib2",
          [](HcaDescription& hca) { hca.netdev.name.clear(); }),
    warns("netdev_down", kA100, "ib.netdev", "mlx5_ib4",
          [](HcaDescription& hca) { take_down(hca.netdev); }),
    warns("counter_saturated", kH100, "ib.flaps", "mlx5_ib0",
          [](HcaDescription& hca) { hca.counters["link_downed"] = "255"; }),
    is_unknown("counter_without_pma", kH100, "ib.errors", "mlx5_ib1",
               [](HcaDescription& hca) { hca.counters["symbol_error"] = "N/A (no PMA)"; }),
    seen_before(kHour, warns("symbol_errors", kH100, "ib.errors", "mlx5_ib3",
                             [](HcaDescription& hca) { hca.counters["symbol_error"] = "40"; })),
    seen_before(kHour, fails("symbol_error_storm", kA100, "ib.errors", "mlx5_ib3",
                             [](HcaDescription& hca) { hca.counters["symbol_error"] = "40000"; })),
    seen_before(kHour, fails("buffer_overrun", kH100, "ib.errors", "mlx5_ib5",
                             [](HcaDescription& hca) {
                               hca.counters["excessive_buffer_overrun_errors"] = "2";
                             })),
    seen_before(kHour, fails("link_flaps", kH100, "ib.flaps", "mlx5_ib6",
                             [](HcaDescription& hca) {
                               hca.counters["link_downed"] = "6";
                               hca.netdev.carrier_down_count += 6;
                             })),
    seen_before(kHour, fails("carrier_flaps", kA100, "ib.flaps", "mlx5_ib2",
                             [](HcaDescription& hca) { hca.netdev.carrier_down_count += 9; })),
};

}  // namespace

std::span<const Fault> device_faults() { return kDeviceFaults; }
std::span<const Fault> infiniband_faults() { return kInfinibandFaults; }

}  // namespace muster::nodes
