// SPDX-License-Identifier: Apache-2.0
// A virtual machine with two GPUs and two HCAs, one of each on each of two NUMA nodes, and the
// profile that it satisfies: each test changes what it is about.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "lib/node/snapshot.hpp"
#include "lib/profile/profile.hpp"

namespace muster::topo_node {

inline constexpr auto kGpu0 = "0001:00:00.0";
inline constexpr auto kGpu1 = "0002:00:00.0";
inline constexpr auto kHca0 = "0101:00:00.0";
inline constexpr auto kHca1 = "0102:00:00.0";

inline PciDevice device(const std::string& address, PciKind kind, int numa) {
  return {.address = address, .kind = kind, .responding = true, .numa_node = numa};
}

inline Snapshot node() {
  Snapshot snapshot;
  snapshot.identity = observed(Identity{.hypervisor = true});
  snapshot.pci =
      observed(Pci{.devices = {device(kGpu0, PciKind::gpu, 0), device(kGpu1, PciKind::gpu, 1),
                               device(kHca0, PciKind::hca, 0), device(kHca1, PciKind::hca, 1)}});
  Topology topology;
  for (const PciDevice& each : snapshot.pci->devices) {
    topology.devices.push_back(
        {.address = each.address, .numa_nodes = {static_cast<unsigned>(*each.numa_node)}});
  }
  snapshot.topology = observed(std::move(topology));
  snapshot.cpu =
      observed(Cpu{.numa_nodes = std::vector<NumaNode>{{.id = 0, .cpus = std::string("0-47")},
                                                       {.id = 1, .cpus = std::string("48-95")}}});
  snapshot.environment = observed(Environment{
      .nccl_topology = NcclTopology{
          .path = "/opt/topo.xml",
          .origin = "profile",
          .pci_addresses = {kGpu0, kHca0, kGpu1, kHca1},
          .cpu_affinities = {"0=00000000,0000ffff,ffffffff", "1=ffffffff,ffff0000,00000000"}}});
  return snapshot;
}

inline Profile profile() {
  Profile profile;
  profile.topo->numa.gpu = {{kGpu0, 0}, {kGpu1, 1}};
  profile.topo->numa.hca = {{kHca0, 0}, {kHca1, 1}};
  profile.topo->pairing.nearest = Nearest::same_switch;
  profile.topo->pairing.pairs = {{kGpu0, kHca0}, {kGpu1, kHca1}};
  profile.topo->nccl_file.path = "/opt/topo.xml";
  return profile;
}

// A profile with pairs but without NUMA nodes.
inline Profile pairs_only(Nearest nearest) {
  Profile profile;
  profile.topo->pairing = topo_node::profile().topo->pairing;
  profile.topo->pairing.nearest = nearest;
  return profile;
}

}  // namespace muster::topo_node

namespace muster {

inline PciDevice& pci_of(Snapshot& snapshot, std::size_t index) {
  return snapshot.pci->devices.at(index);
}

inline Placement& placement_of(Snapshot& snapshot, std::size_t index) {
  return snapshot.topology->devices.at(index);
}

}  // namespace muster
