// SPDX-License-Identifier: Apache-2.0
// InfiniBand faults: ports, rates, keys, addresses, counters, interfaces.
#include <fmt/format.h>

#include <algorithm>

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

std::vector<Fault> port_faults() {
  return {
      fails("hca_missing", kH100, "pci.devices", "0103:00:00.0",
            [](NodeDescription& node) { drop(node.hcas, 2); }),
      fails("hca_without_driver", kH100, "ib.present", "0103:00:00.0", unbind_third_hca),
      fails("rdma_stack_not_loaded", kH100, "ib.present", "node", unload_rdma_stack),
      fails("port_down", kH100, "ib.state", "mlx5_ib3",
            [](NodeDescription& node) {
              auto& hca = node.hcas.at(3);
              hca.state = "1: DOWN";
              hca.physical_state = "2: Polling";
              hca.rate = "10 Gb/sec (4X SDR)";
              hca.lid = hca.sm_lid = 0;
              hca.netdev.operstate = "down";
              hca.netdev.carrier = false;
            }),
      fails("port_disabled", kA100, "ib.state", "mlx5_ib7",
            [](NodeDescription& node) {
              auto& hca = node.hcas.at(7);
              hca.state = "1: DOWN";
              hca.physical_state = "3: Disabled";
              hca.netdev.operstate = "down";
              hca.netdev.carrier = false;
            }),
      fails("port_init", kH100, "ib.state", "mlx5_ib0",
            [](NodeDescription& node) {
              auto& hca = node.hcas.at(0);
              hca.state = "2: INIT";
              hca.lid = hca.sm_lid = 0;
              hca.netdev.operstate = "down";
              hca.netdev.carrier = false;
            }),
  };
}

std::vector<Fault> rate_faults() {
  return {
      fails("port_half_width", kH100, "ib.rate", "mlx5_ib5",
            [](NodeDescription& node) { node.hcas.at(5).rate = "200 Gb/sec (2X NDR)"; }),
      fails("port_slow_lanes", kA100, "ib.rate", "mlx5_ib1",
            [](NodeDescription& node) { node.hcas.at(1).rate = "100 Gb/sec (4X EDR)"; }),
      fails("port_unnamed_speed", kH100, "ib.rate", "mlx5_ib6",
            [](NodeDescription& node) { node.hcas.at(6).rate = "10 Gb/sec (4X SDR)"; }),
      warns("firmware_differs", kH100, "ib.firmware", "mlx5_ib4",
            [](NodeDescription& node) { node.hcas.at(4).firmware = "28.35.2000"; }),
  };
}

std::vector<Fault> address_faults() {
  return {
      fails("pkey_limited_only", kH100, "ib.pkey", "mlx5_ib1",
            [](NodeDescription& node) { node.hcas.at(1).pkeys = {0x7fff}; }),
      fails("pkey_differs", kA100, "ib.pkey", "mlx5_ib2",
            [](NodeDescription& node) {
              node.hcas.at(2).pkeys = {0x8021, 0x7fff};
            }),
      fails("lid_unassigned", kH100, "ib.address", "mlx5_ib2",
            [](NodeDescription& node) { node.hcas.at(2).lid = 0; }),
      fails("subnet_manager_unknown", kA100, "ib.address", "mlx5_ib0",
            [](NodeDescription& node) { node.hcas.at(0).sm_lid = 0; }),
      fails("gid_prefix_differs", kH100, "ib.address", "mlx5_ib7",
            [](NodeDescription& node) { node.hcas.at(7).gid_prefix = "fec0:0000:0000:0001"; }),
      warns("netdev_missing", kH100, "ib.netdev", "mlx5_ib2",
            [](NodeDescription& node) { node.hcas.at(2).netdev.name.clear(); }),
      warns("netdev_down", kA100, "ib.netdev", "mlx5_ib4",
            [](NodeDescription& node) {
              node.hcas.at(4).netdev.operstate = "down";
              node.hcas.at(4).netdev.carrier = false;
            }),
  };
}

std::vector<Fault> counter_faults() {
  return {
      is_unknown("counter_saturated", kH100, "ib.flaps", "mlx5_ib0",
                 [](NodeDescription& node) { node.hcas.at(0).counters["link_downed"] = "255"; }),
      is_unknown(
          "counter_without_pma", kH100, "ib.errors", "mlx5_ib1",
          [](NodeDescription& node) { node.hcas.at(1).counters["symbol_error"] = "N/A (no PMA)"; }),
      seen_before(kHour, warns("symbol_errors", kH100, "ib.errors", "mlx5_ib3",
                               [](NodeDescription& node) {
                                 node.hcas.at(3).counters["symbol_error"] = "40";
                               })),
      seen_before(kHour, fails("symbol_error_storm", kA100, "ib.errors", "mlx5_ib3",
                               [](NodeDescription& node) {
                                 node.hcas.at(3).counters["symbol_error"] = "40000";
                               })),
      seen_before(kHour, fails("buffer_overrun", kH100, "ib.errors", "mlx5_ib5",
                               [](NodeDescription& node) {
                                 node.hcas.at(5).counters["excessive_buffer_overrun_errors"] = "2";
                               })),
      seen_before(kHour, fails("link_flaps", kH100, "ib.flaps", "mlx5_ib6",
                               [](NodeDescription& node) {
                                 node.hcas.at(6).counters["link_downed"] = "6";
                                 node.hcas.at(6).netdev.carrier_down_count += 6;
                               })),
      seen_before(kHour, fails("carrier_flaps", kA100, "ib.flaps", "mlx5_ib2",
                               [](NodeDescription& node) {
                                 node.hcas.at(2).netdev.carrier_down_count += 9;
                               })),
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
