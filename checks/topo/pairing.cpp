// SPDX-License-Identifier: Apache-2.0
// Each GPU and the HCA it is paired with are as near as the profile says. Pairs go by PCI address:
// indices and names depend on the image.
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "checks/catalogue.hpp"
#include "checks/topo/places.hpp"
#include "lib/profile/limits/topology.hpp"

namespace muster::checks::topo_pairing {
namespace {

struct Pair {
  const PciDevice* gpu = nullptr;
  const PciDevice* hca = nullptr;
};

// hwloc's bridges where it placed the device, else the kernel's.
const std::vector<std::string>& bridges_of(const Snapshot& snapshot, const PciDevice& device) {
  const Placement* placement = topo::placement_of(snapshot, device.address);
  return placement == nullptr ? device.upstream : placement->bridges;
}

bool hides_switches(const Snapshot& snapshot, const Pair& pair) {
  return bridges_of(snapshot, *pair.gpu).empty() && bridges_of(snapshot, *pair.hca).empty();
}

// A bridge above both: they are below one root port, and so below one switch.
bool share_a_switch(const Snapshot& snapshot, const Pair& pair) {
  const auto& theirs = bridges_of(snapshot, *pair.hca);
  return std::ranges::any_of(bridges_of(snapshot, *pair.gpu), [&](const std::string& bridge) {
    return std::ranges::count(theirs, bridge) > 0;
  });
}

std::optional<unsigned> node_of(const Snapshot& snapshot, const PciDevice& device) {
  const topo::NumaWords words = topo::numa_words(snapshot, device.address);
  return words.local_cpus ? words.local_cpus : words.sysfs;
}

std::optional<Finding> judge_numa(const Snapshot& snapshot, const Pair& pair) {
  const auto gpu = node_of(snapshot, *pair.gpu);
  const auto hca = node_of(snapshot, *pair.hca);
  if (!gpu || !hca) {
    return unknown(pair.gpu->address,
                   fmt::format("the NUMA node of {} is not known",
                               gpu ? fmt::format("its HCA {}", pair.hca->address) : "the GPU"));
  }
  if (*gpu == *hca) return std::nullopt;
  return failed(pair.gpu->address,
                fmt::format("on NUMA node {}, its HCA {} on {}, expected the same", *gpu,
                            pair.hca->address, *hca),
                Remedy::report_to_provider, {*hca, *gpu});
}

std::optional<Finding> judge_switch(const Snapshot& snapshot, const Pair& pair) {
  if (share_a_switch(snapshot, pair)) return std::nullopt;
  return failed(
      pair.gpu->address,
      fmt::format("no PCIe switch in common with its HCA {}, expected one", pair.hca->address),
      Remedy::report_to_provider);
}

struct Tally {
  Findings findings;
  std::size_t judged = 0;
  std::size_t hidden = 0;    // judged by NUMA node because no switch can be seen
  std::size_t left_out = 0;  // a device is missing or misplaced: another check's finding
};

void judge_pair(const Snapshot& snapshot, const Profile& profile, const Pair& pair, Tally& tally) {
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

std::string summary(const Tally& tally, bool by_switch) {
  std::string_view where = by_switch ? "below the same switch" : "on the same NUMA node";
  if (tally.hidden > 0) {
    where =
        "on the same NUMA node; PCIe switches cannot be seen here, so whether they share one is "
        "not judged";
  }
  const auto left_out = tally.left_out > 0 ? fmt::format("; {} left out", tally.left_out) : "";
  return fmt::format("{} of GPU and HCA {}{}", counted(tally.judged, "pair"), where, left_out);
}

std::optional<Finding> not_here(const Snapshot& /*snapshot*/, const Profile& profile) {
  if (profile.topo->pairing.pairs.empty()) return not_expected("pairs of GPU and HCA");
  return std::nullopt;
}

Findings judge(const Snapshot& snapshot, const Profile& profile) {
  const TopoPairingLimits& limits = profile.topo->pairing;
  if (!snapshot.pci.ok() || !snapshot.topology.ok()) {
    const std::string& why = snapshot.pci.ok() ? snapshot.topology.reason : snapshot.pci.reason;
    return {unknown(kNode, fmt::format("places are not known: {}", why))};
  }
  Tally tally;
  for (const auto& [gpu, hca] : limits.pairs) {
    judge_pair(snapshot, profile, {topo::on_bus(snapshot, gpu), topo::on_bus(snapshot, hca)},
               tally);
  }
  if (tally.judged == 0) {
    return {skipped("no pair is complete and in place: pci.devices and topo.numa judge that")};
  }
  return or_pass(std::move(tally.findings), summary(tally, limits.nearest == Nearest::same_switch));
}

}  // namespace

constinit const Check check{
    .id = "topo.pairing",
    .title = "Each GPU and its HCA are as near as expected",
    .why =
        "GPUDirect RDMA is fast where GPU and HCA share a PCIe switch, slower across the root, and "
        "slow across sockets. Pairs are compared by PCI address. Where a hypervisor hides the "
        "switches only the NUMA node can be judged, and the report says so.",
    .fix =
        "Look at the slots and the firmware's settings; in a cloud report the node to the "
        "provider.",
    .code = "NHC2010",
    .needs = Probe::pci | Probe::topology,
    .when_absent = WhenAbsent::judge,
    .not_here = not_here,
    .judge = judge,
};

}  // namespace muster::checks::topo_pairing
