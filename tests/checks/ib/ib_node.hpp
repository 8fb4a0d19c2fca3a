// SPDX-License-Identifier: Apache-2.0
// A virtual machine with four healthy NDR HCAs and the profile that it satisfies: each test changes
// what it is about.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "lib/node/snapshot.hpp"
#include "lib/profile/profile.hpp"

namespace muster::ib_node {

inline constexpr double kUptime = 86400;

inline IbPort port() {
  IbPort port{.number = 1,
              .link_layer = "InfiniBand",
              .state = 4U,
              .physical_state = 5U,
              .rate_gbps = 400.0,
              .width = 4U,
              .speed = std::string("NDR"),
              .lid = 0x1a0U,
              .sm_lid = 1U,
              .pkeys = std::vector<unsigned>{0x8015, 0x7fff},
              .gid0 = std::string("fe80:0000:0000:0000:0015:5dff:fe33:ff00")};
  port.counters = ByName<Fact<std::uint64_t>>{{"symbol_error", std::uint64_t{0}},
                                              {"link_downed", std::uint64_t{0}}};
  port.hw_counters = ByName<Fact<std::uint64_t>>{};
  return port;
}

inline Hca hca(unsigned index) {
  return {.name = fmt::format("mlx5_ib{}", index),
          .address = fmt::format("010{}:00:00.0", index + 1),
          .node_guid = std::string("0015:5dff:fe33:ff00"),
          .firmware = std::string("28.35.2000"),
          .type = std::string("MT4129"),
          .board = std::string("MT_0000000838"),
          .netdevs = std::vector<std::string>{fmt::format("ib{}", index)},
          .ports = std::vector<IbPort>{port()}};
}

inline PciDevice on_bus(const Hca& hca) {
  return {.address = *hca.address,
          .kind = PciKind::hca,
          .vendor = 0x15b3,
          .device = 0x1021,
          .driver = "mlx5_core",
          .responding = true};
}

inline VerbsDevice by_verbs(const Hca& hca) {
  const VerbsPort port{.number = 1,
                       .state = 4,
                       .physical_state = 5,
                       .active_mtu_bytes = 4096,
                       .width = 4,
                       .active_speed = 128,
                       .lid = 0x1a0,
                       .sm_lid = 1};
  return {.name = hca.name, .ports = std::vector{port}, .registers = true};
}

inline Snapshot node() {
  Snapshot snapshot;
  snapshot.identity = observed(Identity{.uptime_s = kUptime, .hypervisor = true});
  Infiniband infiniband;
  Pci pci;
  Verbs verbs;
  Network network;
  for (unsigned i = 0; i < 4; ++i) {
    infiniband.hcas.push_back(hca(i));
    pci.devices.push_back(on_bus(infiniband.hcas.back()));
    verbs.devices.push_back(by_verbs(infiniband.hcas.back()));
    network.interfaces.push_back({.name = fmt::format("ib{}", i),
                                  .type = 32U,
                                  .operstate = std::string("up"),
                                  .carrier = true,
                                  .carrier_down_count = std::uint64_t{1}});
  }
  snapshot.infiniband = observed(std::move(infiniband));
  snapshot.pci = observed(std::move(pci));
  snapshot.verbs = observed(std::move(verbs));
  snapshot.network = observed(std::move(network));
  snapshot.kernel_log = observed(KernelLog{});
  return snapshot;
}

// The state that the next run would find: these counters were seen an hour ago with this value.
inline void seen_before(Snapshot& snapshot, const std::string& key, std::uint64_t value) {
  snapshot.earlier.last_uptime_s = kUptime - 3600;
  snapshot.earlier.counters[key] = {{.uptime_s = kUptime - 3600, .value = value}};
}

inline Profile profile() {
  Profile profile;
  profile.ib->present = {.count = 4, .name = "mlx5_ib*", .exclude = "mlx5_an*"};
  profile.ib->rate = {
      .expected = BitsPerSecond{400e9}, .width = IbWidth::x4, .speed = IbLaneSpeed::ndr};
  profile.ib->pkey.require = PkeyWanted::non_default_full_member;
  profile.ib->mtu.active = Bytes{4096};
  profile.ib->errors.window = Seconds{24 * 3600.0};
  profile.ib->errors.counters = {
      {"symbol_error", {.warn_above_per_hour = 10, .fail_above_per_hour = 1000}}};
  profile.ib->flaps = {
      .max = 4, .window = Seconds{24 * 3600.0}, .ignore_after_boot = Seconds{1800}};
  return profile;
}

// The accelerated networking of Azure: an RDMA device, and no InfiniBand.
inline Hca ethernet_hca() {
  Hca device = hca(8);
  device.name = "mlx5_an0";
  device.address = std::string("a1b2:00:02.0");
  device.ports->front().link_layer = "Ethernet";
  device.ports->front().lid = 0U;
  device.ports->front().rate_gbps = 100.0;
  return device;
}

}  // namespace muster::ib_node

namespace muster {

inline Hca& hca_of(Snapshot& snapshot, unsigned index) {
  return snapshot.infiniband->hcas.at(index);
}

inline IbPort& port_of(Snapshot& snapshot, unsigned index) {
  return (*hca_of(snapshot, index).ports).at(0);
}

}  // namespace muster
