// SPDX-License-Identifier: Apache-2.0
// RDMA devices: sys/class/infiniband with ports, keys, GIDs and counters, and the verbs and
// management devices that libibverbs and libibumad look for. Network interfaces: those of HCAs are
// below their function, the others below Hyper-V's bus or a virtual device, and all are linked from
// sys/class/net.
#include <fmt/format.h>

#include <algorithm>

#include "lib/base/text.hpp"
#include "tests/nodes/parts.hpp"
#include "tests/nodes/render.hpp"

namespace muster::nodes {
namespace {

constexpr std::string_view kCounters =
    "VL15_dropped excessive_buffer_overrun_errors link_downed link_error_recovery "
    "local_link_integrity_errors multicast_rcv_packets multicast_xmit_packets "
    "port_rcv_constraint_errors port_rcv_data port_rcv_errors port_rcv_packets "
    "port_rcv_remote_physical_errors port_rcv_switch_relay_errors port_xmit_constraint_errors "
    "port_xmit_data port_xmit_discards port_xmit_packets port_xmit_wait symbol_error "
    "unicast_rcv_packets unicast_xmit_packets";

constexpr std::string_view kHwCounters =
    "duplicate_request implied_nak_seq_err local_ack_timeout_err np_cnp_sent "
    "np_ecn_marked_roce_packets out_of_buffer out_of_sequence packet_seq_err req_cqe_error "
    "req_cqe_flush_error req_remote_access_errors req_remote_invalid_request resp_cqe_error "
    "resp_cqe_flush_error resp_local_length_error resp_remote_access_errors rnr_nak_retry_err "
    "rp_cnp_handled rp_cnp_ignored rx_atomic_requests rx_read_requests rx_write_requests";

void add_counters(Tree& tree, std::string_view folder, std::string_view names,
                  const std::map<std::string, std::string>& values) {
  for (const auto name : split_words(names)) attribute(tree, folder, name, 0);
  for (const auto& [name, value] : values) attribute(tree, folder, name, value);
}

void add_tables(const HcaDescription& hca, std::string_view port, Tree& tree) {
  constexpr std::size_t kPkeys = 128;
  constexpr std::size_t kGids = 16;
  for (std::size_t i = 0; i < kPkeys; ++i) {
    const unsigned key = i < hca.pkeys.size() ? hca.pkeys[i] : 0;
    attribute(tree, fmt::format("{}/pkeys", port), fmt::to_string(i), fmt::format("{:#06x}", key));
  }
  const bool infiniband = hca.link_layer == "InfiniBand";
  for (std::size_t i = 0; i < kGids; ++i) {
    const auto index = fmt::format("{}", i);
    const auto gid = i == 0 ? fmt::format("{}:{}", hca.gid_prefix, hca.guid)
                            : std::string("0000:0000:0000:0000:0000:0000:0000:0000");
    attribute(tree, fmt::format("{}/gids", port), index, gid);
  }
  attribute(tree, fmt::format("{}/gid_attrs/types", port), "0",
            infiniband ? "IB/RoCE v1" : "RoCE v2");
  attribute(tree, fmt::format("{}/gid_attrs/ndevs", port), "0", hca.netdev.name);
}

void add_port(const HcaDescription& hca, std::string_view device, Tree& tree) {
  const auto port = fmt::format("{}/ports/1", device);
  attribute(tree, port, "state", hca.state);
  attribute(tree, port, "phys_state", hca.physical_state);
  attribute(tree, port, "rate", hca.rate);
  attribute(tree, port, "link_layer", hca.link_layer);
  attribute(tree, port, "lid", fmt::format("{:#x}", hca.lid));
  attribute(tree, port, "sm_lid", fmt::format("{:#x}", hca.sm_lid));
  attribute(tree, port, "lid_mask_count", "0");
  attribute(tree, port, "sm_sl", "0");
  attribute(tree, port, "cap_mask", "0x2651e848");
  add_tables(hca, port, tree);
  add_counters(tree, fmt::format("{}/counters", port), kCounters, hca.counters);
  add_counters(tree, fmt::format("{}/hw_counters", port), kHwCounters, hca.hw_counters);
  // A setting among the counters: how long the kernel caches their values.
  attribute(tree, fmt::format("{}/hw_counters", port), "lifespan", "10");
}

void add_character_devices(const HcaDescription& hca, std::string_view pci, std::size_t index,
                           Tree& tree) {
  const auto verbs = fmt::format("{}/infiniband_verbs/uverbs{}", pci, index);
  attribute(tree, verbs, "ibdev", hca.name);
  attribute(tree, verbs, "dev", fmt::format("231:{}", 192 + index));
  attribute(tree, verbs, "abi_version", "1");
  tree.link(fmt::format("{}/device", verbs), pci);
  tree.link(fmt::format("sys/class/infiniband_verbs/uverbs{}", index), verbs);
  tree.file(fmt::format("dev/infiniband/uverbs{}", index), {});

  const auto management = fmt::format("{}/infiniband_mad/umad{}", pci, index);
  attribute(tree, management, "ibdev", hca.name);
  attribute(tree, management, "port", "1");
  attribute(tree, management, "dev", fmt::format("231:{}", index));
  tree.link(fmt::format("{}/device", management), pci);
  tree.link(fmt::format("sys/class/infiniband_mad/umad{}", index), management);
  tree.file(fmt::format("dev/infiniband/umad{}", index), {});
}

void add_device(const HcaDescription& hca, std::size_t index, Tree& tree) {
  const auto pci = device_path(hca.pci);
  const auto device = fmt::format("{}/infiniband/{}", pci, hca.name);
  attribute(tree, device, "node_type", "1: CA");
  attribute(tree, device, "node_guid", hca.guid);
  attribute(tree, device, "sys_image_guid", hca.guid);
  attribute(tree, device, "node_desc", fmt::format("node {}", hca.name));
  attribute(tree, device, "fw_ver", hca.firmware);
  attribute(tree, device, "hca_type", fmt::format("MT{}", hca.pci.device));
  attribute(tree, device, "board_id", hca.board);
  attribute(tree, device, "hw_rev", "0");
  tree.link(fmt::format("{}/device", device), pci);
  tree.link(fmt::format("{}/subsystem", device), "sys/class/infiniband");
  add_port(hca, device, tree);
  tree.link(fmt::format("sys/class/infiniband/{}", hca.name), device);
  add_character_devices(hca, pci, index, tree);
  if (!hca.netdev.name.empty()) {
    render_interface(hca.netdev, pci, static_cast<unsigned>(10 + index), tree);
  }
}

}  // namespace

void render_interface(const NetdevDescription& netdev, std::string_view parent, unsigned index,
                      Tree& tree) {
  const auto folder = fmt::format("{}/net/{}", parent, netdev.name);
  // An IPoIB address has 20 bytes: queue pair, subnet prefix and GUID.
  const auto mac =
      netdev.type == 32
          ? fmt::format("00:00:09:27:fe:80:00:00:00:00:00:00:00:15:5d:ff:fe:33:ff:{:02x}", index)
          : netdev.mac;
  attribute(tree, folder, "type", netdev.type);
  attribute(tree, folder, "address", mac);
  attribute(tree, folder, "operstate", netdev.operstate);
  attribute(tree, folder, "carrier", netdev.carrier ? "1" : "0");
  attribute(tree, folder, "carrier_down_count", netdev.carrier_down_count);
  attribute(tree, folder, "carrier_up_count", netdev.carrier_down_count + 1);
  attribute(tree, folder, "mtu", netdev.mtu);
  attribute(tree, folder, "flags", netdev.operstate == "down" ? "0x1002" : "0x1003");
  attribute(tree, folder, "ifindex", index);
  attribute(tree, folder, "dev_id", "0x0");
  attribute(tree, folder, "dev_port", "0");
  // The kernel reports -1 if the driver does not know the speed.
  attribute(tree, folder, "speed",
            netdev.speed_mbps == 0 ? std::string("-1") : fmt::format("{}", netdev.speed_mbps));
  tree.link(fmt::format("{}/device", folder), parent);
  tree.link(fmt::format("{}/subsystem", folder), "sys/class/net");
  tree.link(fmt::format("sys/class/net/{}", netdev.name), folder);
}

void render_network(const NodeDescription& node, Tree& tree) {
  const NetdevDescription loopback{
      .name = "lo", .type = 772, .operstate = "unknown", .mtu = 65536, .mac = "00:00:00:00:00:00"};
  constexpr std::string_view kVirtual = "sys/devices/virtual";
  render_interface(loopback, kVirtual, 1, tree);
  tree.remove("sys/devices/virtual/net/lo/device");
  unsigned index = 2;
  for (const auto& netdev : node.netdevs) {
    const auto parent = node.system.hypervisor
                            ? fmt::format(
                                  "sys/devices/LNXSYSTM:00/LNXSYBUS:00/ACPI0004:00/VMBUS:00/"
                                  "000d3a10-2030-000d-3a10-2030000d3a{:02x}",
                                  index)
                            : fmt::format("sys/devices/platform/network.{}", index);
    render_interface(netdev, parent, index, tree);
    attribute(tree, parent, "uevent", "DRIVER=hv_netvsc");
    ++index;
  }
}

void render_infiniband(const NodeDescription& node, Tree& tree) {
  const auto& modules = node.system.modules;
  // Without the RDMA core the class does not exist; without a device it is empty.
  if (std::ranges::find(modules, "ib_core") == modules.end()) return;
  tree.directory("sys/class/infiniband");
  attribute(tree, "sys/class/infiniband_verbs", "abi_version", "6");
  attribute(tree, "sys/class/infiniband_mad", "abi_version", "5");
  for (std::size_t i = 0; i < node.hcas.size(); ++i) add_device(node.hcas[i], i, tree);
}

}  // namespace muster::nodes
