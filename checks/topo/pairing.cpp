// SPDX-License-Identifier: Apache-2.0
// How close GPUs are to their HCAs.

#include "checks/catalogue.hpp"
#include "checks/topo/places.hpp"
#include "lib/profile/limits/topology.hpp"

namespace muster::checks {

// topo.virtual: reports that a hypervisor hides the PCIe switches, so that placement is judged by
// the profile's tree.
namespace topo_virtual {
namespace {

Findings judge(const Snapshot& snapshot, const Profile& profile) {
  if (!snapshot.identity->hypervisor) {
    return {skipped("no hypervisor: PCIe switches are visible")};
  }
  if (!snapshot.pci.ok()) {
    return {skipped(fmt::format("the PCI bus is not known: {}", snapshot.pci.reason))};
  }
  std::size_t devices = 0;
  std::size_t behind_bridges = 0;
  for (const PciDevice& device : snapshot.pci->devices) {
    if (device.kind != PciKind::gpu && device.kind != PciKind::hca) continue;
    ++devices;
    if (!device.upstream.empty()) ++behind_bridges;
  }
  if (devices == 0) return {skipped("no GPU or HCA")};
  if (behind_bridges > 0) return {skipped("PCIe bridges are visible below the hypervisor")};
  const std::size_t pairs = profile.topo->pairing.pairs.size();
  if (pairs == 0) {
    return {
        skipped("the hypervisor hides PCIe switches, and this profile has no tree: pairs are not "
                "judged")};
  }
  return {passed(fmt::format(
      "the hypervisor hides PCIe switches: the profile's tree is used ({} of GPU and HCA)",
      counted(pairs, "pair")))};
}

}  // namespace

constinit const Check check{
    .id = "topo.virtual",
    .title = "PCIe switches are visible, or the profile has their tree",
    .why =
        "Hypervisors give each device its own PCI domain and hide the switches, so the distance "
        "between GPU and HCA cannot be observed. Then the profile's expected tree is used, and the "
        "report says so.",
    .fix = "Nothing is wrong. If the profile has no tree for this size, add topo.pairing.pairs.",
    .needs = Probe::pci | Probe::identity,
    .when_absent = WhenAbsent::judge,
    .judge = judge,
};

}  // namespace topo_virtual

// topo.pairing: each GPU is as close to its HCA as the profile expects. Pairs are PCI addresses,
// because indices and names depend on the image.
namespace topo_pairing {
namespace {

struct GpuHcaPair {
  const PciDevice* gpu = nullptr;
  const PciDevice* hca = nullptr;
};

// The bridges from hwloc, or else from the kernel.
const std::vector<std::string>& bridges_of(const Snapshot& snapshot, const PciDevice& device) {
  const Placement* placement = topo::placement_of(snapshot, device.address);
  return placement == nullptr ? device.upstream : placement->bridges;
}

bool hides_switches(const Snapshot& snapshot, const GpuHcaPair& pair) {
  return bridges_of(snapshot, *pair.gpu).empty() && bridges_of(snapshot, *pair.hca).empty();
}

// A common bridge means one root port, and so one switch.
bool share_a_switch(const Snapshot& snapshot, const GpuHcaPair& pair) {
  const auto& theirs = bridges_of(snapshot, *pair.hca);
  return std::ranges::any_of(bridges_of(snapshot, *pair.gpu), [&](const std::string& bridge) {
    return std::ranges::count(theirs, bridge) > 0;
  });
}

std::optional<unsigned> node_of(const Snapshot& snapshot, const PciDevice& device) {
  const topo::NumaSources words = topo::numa_sources(snapshot, device.address);
  return words.local_cpus ? words.local_cpus : words.sysfs;
}

std::optional<Finding> judge_numa(const Snapshot& snapshot, const GpuHcaPair& pair) {
  const auto gpu = node_of(snapshot, *pair.gpu);
  const auto hca = node_of(snapshot, *pair.hca);
  if (!gpu || !hca) {
    return unknown(pair.gpu->address,
                   fmt::format("the NUMA node of {} is not known",
                               gpu ? fmt::format("its HCA {}", pair.hca->address) : "the GPU"));
  }
  if (*gpu == *hca) return std::nullopt;
  return failed(pair.gpu->address,
                fmt::format("on NUMA node {} but its HCA {} on {}, expected the same", *gpu,
                            pair.hca->address, *hca),
                Remedy::report_to_provider, {*hca, *gpu});
}

std::optional<Finding> judge_switch(const Snapshot& snapshot, const GpuHcaPair& pair) {
  if (share_a_switch(snapshot, pair)) return std::nullopt;
  return failed(
      pair.gpu->address,
      fmt::format("no common PCIe switch with its HCA {}, expected one", pair.hca->address),
      Remedy::report_to_provider);
}

struct PairFindings {
  Findings findings;
  std::size_t judged = 0;
  std::size_t hidden = 0;    // judged by NUMA node because switches are hidden
  std::size_t left_out = 0;  // another check reports a missing or misplaced device
};

void judge_pair(const Snapshot& snapshot, const Profile& profile, const GpuHcaPair& pair,
                PairFindings& tally) {
  if (pair.gpu == nullptr || pair.hca == nullptr ||
      topo::is_misplaced(snapshot, profile, pair.gpu->address) ||
      topo::is_misplaced(snapshot, profile, pair.hca->address)) {
    ++tally.left_out;
    return;
  }
  ++tally.judged;
  const bool by_switch = profile.topo->pairing.nearest == Nearest::same_switch;
  const bool hidden = by_switch && hides_switches(snapshot, pair);
  if (hidden) ++tally.hidden;
  append(tally.findings,
         by_switch && !hidden ? judge_switch(snapshot, pair) : judge_numa(snapshot, pair));
}

std::string summary(const PairFindings& tally, bool by_switch) {
  std::string_view where = by_switch ? "below the same switch" : "on the same NUMA node";
  if (tally.hidden > 0) {
    where = "on the same NUMA node; PCIe switches are hidden and not judged";
  }
  const auto left_out = tally.left_out > 0 ? fmt::format("; {} left out", tally.left_out) : "";
  return fmt::format("{} of GPU and HCA {}{}", counted(tally.judged, "pair"), where, left_out);
}

Findings judge(const Snapshot& snapshot, const Profile& profile) {
  const TopoPairingLimits& limits = profile.topo->pairing;
  if (!snapshot.pci.ok() || !snapshot.topology.ok()) {
    const std::string& why = snapshot.pci.ok() ? snapshot.topology.reason : snapshot.pci.reason;
    return {unknown(kNode, fmt::format("the placement of devices is not known: {}", why))};
  }
  PairFindings tally;
  for (const auto& [gpu, hca] : limits.pairs) {
    judge_pair(snapshot, profile, {topo::on_bus(snapshot, gpu), topo::on_bus(snapshot, hca)},
               tally);
  }
  if (tally.judged == 0) {
    return {skipped("no pair is complete and in place: see pci.devices and topo.numa")};
  }
  return or_pass(std::move(tally.findings), summary(tally, limits.nearest == Nearest::same_switch));
}

}  // namespace

constinit const Check check{
    .id = "topo.pairing",
    .title = "Each GPU is as close to its HCA as expected",
    .why =
        "GPUDirect RDMA is fast if GPU and HCA share a PCIe switch, slower across the root "
        "complex, and slow across sockets. Pairs are compared by PCI address. If a hypervisor "
        "hides the switches, only the NUMA node is judged, and the report says so.",
    .fix =
        "Look at the slots and the firmware settings; in a cloud, report the node to the provider.",
    .code = "NHC2010",
    .needs = Probe::pci | Probe::topology,
    .when_absent = WhenAbsent::judge,
    .not_here =
        [](const Snapshot&, const Profile& profile) {
          return unless(!profile.topo->pairing.pairs.empty(), not_expected("pairs of GPU and HCA"));
        },
    .judge = judge,
};

}  // namespace topo_pairing

}  // namespace muster::checks
