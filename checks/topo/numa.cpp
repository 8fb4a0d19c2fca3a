// SPDX-License-Identifier: Apache-2.0
// Every GPU, HCA and NVMe sits on its expected NUMA node, by sysfs and by its local CPUs.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "checks/catalogue.hpp"
#include "checks/topo/places.hpp"
#include "lib/profile/limits/topology.hpp"

namespace muster::checks::topo_numa {
namespace {

// Why only one source has a word, where the other should have one too.
std::optional<Finding> missing_word(const Snapshot& snapshot, const PciDevice& device) {
  const std::string& address = device.address;
  if (!device.numa_node) return not_known(address, "sysfs's NUMA node", device.numa_node);
  const Placement* placement = topo::placement_of(snapshot, address);
  if (placement == nullptr) return unknown(address, "hwloc does not place it");
  if (placement->numa_nodes.size() == 1) return std::nullopt;
  const std::string sysfs = *device.numa_node < 0
                                ? "sysfs does not know its NUMA node"
                                : fmt::format("sysfs says NUMA node {}", *device.numa_node);
  return unknown(address, fmt::format("{}, and its local CPUs belong to {}", sysfs,
                                      counted(placement->numa_nodes.size(), "NUMA node")));
}

std::optional<Finding> judge_expected(const Snapshot& snapshot, const PciDevice& device,
                                      unsigned expected) {
  const std::string& address = device.address;
  const topo::NumaWords words = topo::numa_words(snapshot, address);
  const unsigned local = words.local_cpus.value_or(expected);
  const unsigned sysfs = words.sysfs.value_or(expected);
  const auto misplaced = [&](unsigned observed, std::string message) {
    return failed(address, std::move(message), Remedy::report_to_provider, {observed, expected});
  };
  if (words.contradict()) {
    return misplaced(
        sysfs == expected ? local : sysfs,
        fmt::format("sysfs says NUMA node {}, its local CPUs (hwloc) say {}, expected {}", sysfs,
                    local, expected));
  }
  const unsigned node = local != expected ? local : sysfs;
  if (node == expected) return missing_word(snapshot, device);
  return misplaced(node, fmt::format("on NUMA node {}, expected {}", node, expected));
}

// Nothing is expected of this device, and still its two sources should agree.
std::optional<Finding> judge_unexpected(const Snapshot& snapshot, const Placement& placement) {
  const topo::NumaWords words = topo::numa_words(snapshot, placement.address);
  if (!words.contradict()) return std::nullopt;
  return warned(placement.address,
                fmt::format("sysfs says NUMA node {}, its local CPUs (hwloc) say {}", *words.sysfs,
                            *words.local_cpus),
                Remedy::report_to_provider, {*words.sysfs});
}

// What was looked at, and what came of it.
struct Tally {
  Findings findings;
  std::size_t judged = 0;    // against the profile
  std::size_t compared = 0;  // one source against the other
};

void judge_all_expected(const Snapshot& snapshot, const Profile& profile, Tally& tally) {
  const TopoNumaLimits& limits = profile.topo->numa;
  for (const auto* nodes : {&limits.gpu, &limits.hca, &limits.nvme}) {
    for (const auto& [address, expected] : *nodes) {
      const PciDevice* device = topo::on_bus(snapshot, address);
      if (device == nullptr) continue;
      ++tally.judged;
      append(tally.findings, judge_expected(snapshot, *device, static_cast<unsigned>(expected)));
    }
  }
}

void compare_the_others(const Snapshot& snapshot, const Profile& profile, Tally& tally) {
  for (const Placement& placement : snapshot.topology->devices) {
    if (topo::expected_node(profile, placement.address)) continue;
    ++tally.compared;
    append(tally.findings, judge_unexpected(snapshot, placement));
  }
}

// Equal GPUs of a node sit on its NUMA nodes in equal numbers. One too many here and one too few
// there is one in another place than its slot's.
void judge_balance(const Snapshot& snapshot, Tally& tally) {
  std::map<std::pair<unsigned, unsigned>, std::map<int, std::size_t>> kinds;
  for (const PciDevice& device : snapshot.pci->devices) {
    if (device.kind != PciKind::gpu || pci::silent(device) || !device.numa_node) continue;
    ++kinds[{device.vendor, device.device}][*device.numa_node];
  }
  for (const auto& [kind, nodes] : kinds) {
    std::size_t all = 0;
    std::vector<std::string> words;
    for (const auto& [node, count] : nodes) {
      all += count;
      words.push_back(node < 0 ? fmt::format("{} nowhere", count)
                               : fmt::format("{} on node {}", count, node));
    }
    const auto [least, most] =
        std::ranges::minmax_element(nodes, {}, [](const auto& each) { return each.second; });
    const bool off_by_one = most->second == least->second + 2 && all % nodes.size() == 0;
    const bool one_nowhere = nodes.begin()->first < 0 && nodes.size() > 1;
    if (all < 4 || !(off_by_one || one_nowhere)) continue;
    tally.findings.push_back(warned(kNode,
                                    fmt::format("{} do not sit evenly on NUMA nodes: {}",
                                                counted(all, "GPU"), fmt::join(words, ", ")),
                                    Remedy::report_to_provider));
  }
}

Finding all_well(const Tally& tally, bool expects) {
  if (tally.judged > 0) {
    return passed(fmt::format("{} on the expected NUMA nodes", counted(tally.judged, "device")));
  }
  if (expects) return skipped("no expected device is on the PCI bus: pci.devices judges that");
  if (tally.compared == 0) return not_expected("NUMA placement");
  return passed(fmt::format("sysfs and local CPUs agree on the NUMA nodes of {}",
                            counted(tally.compared, "device")));
}

Findings judge(const Snapshot& snapshot, const Profile& profile) {
  const TopoNumaLimits& limits = profile.topo->numa;
  const bool expects = !limits.gpu.empty() || !limits.hca.empty() || !limits.nvme.empty();
  if (!snapshot.pci.ok() || !snapshot.topology.ok()) {
    const std::string& why = snapshot.pci.ok() ? snapshot.topology.reason : snapshot.pci.reason;
    if (!expects) return {not_expected("NUMA placement")};
    return {unknown(kNode, fmt::format("places are not known: {}", why))};
  }
  Tally tally;
  judge_all_expected(snapshot, profile, tally);
  compare_the_others(snapshot, profile, tally);
  if (limits.gpu.empty()) judge_balance(snapshot, tally);
  if (tally.findings.empty()) return {all_well(tally, expects)};
  return std::move(tally.findings);
}

}  // namespace

constinit const Check check{
    .id = "topo.numa",
    .title = "GPUs, HCAs and NVMe devices are on their NUMA nodes",
    .why =
        "Jobs bind processes to the CPUs next to their GPU. When the firmware or the hypervisor "
        "gives a device a wrong place, every transfer crosses the socket. sysfs's numa_node and "
        "the device's local CPUs can differ, and libraries believe one or the other, so both are "
        "judged. Where the profile names no places, equal GPUs that sit unevenly on the NUMA nodes "
        "are a warning.",
    .fix =
        "Look at the firmware's settings (NUMA nodes per socket, SR-IOV); in a cloud report the "
        "node to the provider.",
    .code = "NHC2010",
    .needs = Probe::pci | Probe::topology,
    .when_absent = WhenAbsent::judge,
    .judge = judge,
};

}  // namespace muster::checks::topo_numa
