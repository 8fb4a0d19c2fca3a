// SPDX-License-Identifier: Apache-2.0
// Network interfaces: those of HCAs are below their function, the others below Hyper-V's bus or a
// virtual device, and all are linked from sys/class/net.
#include <fmt/format.h>

#include "tests/nodes/parts.hpp"

namespace muster::nodes {

void render_interface(const NetdevDescription& netdev, std::string_view parent, unsigned index,
                      Tree& tree) {
  const auto folder = fmt::format("{}/net/{}", parent, netdev.name);
  // An IPoIB address has 20 bytes: queue pair, subnet prefix and GUID.
  const auto mac =
      netdev.type == 32
          ? fmt::format("00:00:09:27:fe:80:00:00:00:00:00:00:00:15:5d:ff:fe:33:ff:{:02x}", index)
          : netdev.mac;
  attribute(tree, folder, "type", fmt::format("{}", netdev.type));
  attribute(tree, folder, "address", mac);
  attribute(tree, folder, "operstate", netdev.operstate);
  attribute(tree, folder, "carrier", netdev.carrier ? "1" : "0");
  attribute(tree, folder, "carrier_down_count", fmt::format("{}", netdev.carrier_down_count));
  attribute(tree, folder, "carrier_up_count", fmt::format("{}", netdev.carrier_down_count + 1));
  attribute(tree, folder, "mtu", fmt::format("{}", netdev.mtu));
  attribute(tree, folder, "flags", netdev.operstate == "down" ? "0x1002" : "0x1003");
  attribute(tree, folder, "ifindex", fmt::format("{}", index));
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

}  // namespace muster::nodes
