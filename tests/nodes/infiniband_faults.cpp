// SPDX-License-Identifier: Apache-2.0
// What goes wrong with InfiniBand: ports, rates, keys, addresses, counters, interfaces.
#include <fmt/format.h>

#include <algorithm>

#include "lib/base/units.hpp"
#include "tests/nodes/faults.hpp"
#include "tests/nodes/needed.hpp"
#include "tests/nodes/render.hpp"

namespace muster::nodes {
namespace {

// The function is on the bus, and no driver has made an RDMA device of it.
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

// The HCAs are bound to their driver, and the RDMA core offers none of them.
void unload_rdma_stack(Tree& tree) {
  for (const char* part : {"infiniband", "infiniband_mad", "infiniband_verbs"}) {
    tree.remove(fmt::format("sys/class/{}", part));
  }
}

std::vector<Fault> port_faults() {
  return {
      {.name = "hca_missing",
       .node = kH100,
       .check = "pci.devices",
       .device = "0103:00:00.0",
       .change = [](NodeDescription& node) { drop(node.hcas, 2); }},
      {.name = "hca_without_driver",
       .node = kH100,
       .check = "ib.present",
       .device = "0103:00:00.0",
       .damage = unbind_third_hca},
      {.name = "rdma_stack_not_loaded",
       .node = kH100,
       .check = "ib.present",
       .device = "node",
       .damage = unload_rdma_stack},
      {.name = "port_down",
       .node = kH100,
       .check = "ib.state",
       .device = "mlx5_ib3",
       .change =
           [](NodeDescription& node) {
             auto& hca = node.hcas.at(3);
             hca.state = "1: DOWN";
             hca.physical_state = "2: Polling";
             hca.rate = "10 Gb/sec (4X SDR)";
             hca.lid = hca.sm_lid = 0;
             hca.netdev.operstate = "down";
             hca.netdev.carrier = false;
           }},
      {.name = "port_disabled",
       .node = kA100,
       .check = "ib.state",
       .device = "mlx5_ib7",
       .change =
           [](NodeDescription& node) {
             auto& hca = node.hcas.at(7);
             hca.state = "1: DOWN";
             hca.physical_state = "3: Disabled";
             hca.netdev.operstate = "down";
             hca.netdev.carrier = false;
           }},
      {.name = "port_init",
       .node = kH100,
       .check = "ib.state",
       .device = "mlx5_ib0",
       .change =
           [](NodeDescription& node) {
             auto& hca = node.hcas.at(0);
             hca.state = "2: INIT";
             hca.lid = hca.sm_lid = 0;
             hca.netdev.operstate = "down";
             hca.netdev.carrier = false;
           }},
  };
}

std::vector<Fault> rate_faults() {
  return {
      {.name = "port_half_width",
       .node = kH100,
       .check = "ib.rate",
       .device = "mlx5_ib5",
       .change = [](NodeDescription& node) { node.hcas.at(5).rate = "200 Gb/sec (2X NDR)"; }},
      {.name = "port_slow_lanes",
       .node = kA100,
       .check = "ib.rate",
       .device = "mlx5_ib1",
       .change = [](NodeDescription& node) { node.hcas.at(1).rate = "100 Gb/sec (4X EDR)"; }},
      {.name = "port_unnamed_speed",
       .node = kH100,
       .check = "ib.rate",
       .device = "mlx5_ib6",
       .change = [](NodeDescription& node) { node.hcas.at(6).rate = "10 Gb/sec (4X SDR)"; }},
      {.name = "firmware_differs",
       .node = kH100,
       .check = "ib.firmware",
       .device = "mlx5_ib4",
       .outcome = Outcome::warn,
       .change = [](NodeDescription& node) { node.hcas.at(4).firmware = "28.35.2000"; }},
  };
}

std::vector<Fault> address_faults() {
  return {
      {.name = "pkey_limited_only",
       .node = kH100,
       .check = "ib.pkey",
       .device = "mlx5_ib1",
       .change = [](NodeDescription& node) { node.hcas.at(1).pkeys = {0x7fff}; }},
      {.name = "pkey_differs",
       .node = kA100,
       .check = "ib.pkey",
       .device = "mlx5_ib2",
       .change =
           [](NodeDescription& node) {
             node.hcas.at(2).pkeys = {0x8021, 0x7fff};
           }},
      {.name = "lid_unassigned",
       .node = kH100,
       .check = "ib.address",
       .device = "mlx5_ib2",
       .change = [](NodeDescription& node) { node.hcas.at(2).lid = 0; }},
      {.name = "subnet_manager_unknown",
       .node = kA100,
       .check = "ib.address",
       .device = "mlx5_ib0",
       .change = [](NodeDescription& node) { node.hcas.at(0).sm_lid = 0; }},
      {.name = "gid_prefix_differs",
       .node = kH100,
       .check = "ib.address",
       .device = "mlx5_ib7",
       .change = [](NodeDescription& node) { node.hcas.at(7).gid_prefix = "fec0:0000:0000:0001"; }},
      {.name = "netdev_missing",
       .node = kH100,
       .check = "ib.netdev",
       .device = "mlx5_ib2",
       .outcome = Outcome::warn,
       .change = [](NodeDescription& node) { node.hcas.at(2).netdev.name.clear(); }},
      {.name = "netdev_down",
       .node = kA100,
       .check = "ib.netdev",
       .device = "mlx5_ib4",
       .outcome = Outcome::warn,
       .change =
           [](NodeDescription& node) {
             node.hcas.at(4).netdev.operstate = "down";
             node.hcas.at(4).netdev.carrier = false;
           }},
  };
}

std::vector<Fault> counter_faults() {
  return {
      {.name = "counter_saturated",
       .node = kH100,
       .check = "ib.flaps",
       .device = "mlx5_ib0",
       .outcome = Outcome::unknown,
       .change = [](NodeDescription& node) { node.hcas.at(0).counters["link_downed"] = "255"; }},
      {.name = "counter_without_pma",
       .node = kH100,
       .check = "ib.errors",
       .device = "mlx5_ib1",
       .outcome = Outcome::unknown,
       .change =
           [](NodeDescription& node) {
             node.hcas.at(1).counters["symbol_error"] = "N/A (no PMA)";
           }},
      {.name = "symbol_errors",
       .node = kH100,
       .check = "ib.errors",
       .device = "mlx5_ib3",
       .outcome = Outcome::warn,
       .change = [](NodeDescription& node) { node.hcas.at(3).counters["symbol_error"] = "40"; },
       .earlier_s = kHour},
      {.name = "symbol_error_storm",
       .node = kA100,
       .check = "ib.errors",
       .device = "mlx5_ib3",
       .change = [](NodeDescription& node) { node.hcas.at(3).counters["symbol_error"] = "40000"; },
       .earlier_s = kHour},
      {.name = "buffer_overrun",
       .node = kH100,
       .check = "ib.errors",
       .device = "mlx5_ib5",
       .change =
           [](NodeDescription& node) {
             node.hcas.at(5).counters["excessive_buffer_overrun_errors"] = "2";
           },
       .earlier_s = kHour},
      {.name = "link_flaps",
       .node = kH100,
       .check = "ib.flaps",
       .device = "mlx5_ib6",
       .change =
           [](NodeDescription& node) {
             node.hcas.at(6).counters["link_downed"] = "6";
             node.hcas.at(6).netdev.carrier_down_count += 6;
           },
       .earlier_s = kHour},
      {.name = "carrier_flaps",
       .node = kA100,
       .check = "ib.flaps",
       .device = "mlx5_ib2",
       .change = [](NodeDescription& node) { node.hcas.at(2).netdev.carrier_down_count += 9; },
       .earlier_s = kHour},
  };
}

}  // namespace

std::vector<Fault> infiniband_faults() {
  auto faults = port_faults();
  std::ranges::move(rate_faults(), std::back_inserter(faults));
  std::ranges::move(address_faults(), std::back_inserter(faults));
  std::ranges::move(counter_faults(), std::back_inserter(faults));
  return faults;
}

}  // namespace muster::nodes
