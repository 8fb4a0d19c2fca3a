// SPDX-License-Identifier: Apache-2.0
// topo.numa: every GPU, HCA and NVMe device is on its expected NUMA node, in sysfs and by its local
// CPUs.
#include <fmt/ranges.h>

#include <map>

#include "checks/catalogue.hpp"
#include "checks/topo/places.hpp"
#include "lib/profile/limits/topology.hpp"

namespace muster::checks::topo_numa {
namespace {

// Unknown if only one source reports a NUMA node.
std::optional<Finding> missing_source(const Snapshot& snapshot, const PciDevice& device) {
  const std::string& address = device.address;
  if (!device.numa_node) return not_known(address, "the NUMA node in sysfs", device.numa_node);
  const Placement* placement = topo::placement_of(snapshot, address);
  if (placement == nullptr) return unknown(address, "hwloc does not list it");
  if (placement->numa_nodes.size() == 1) return std::nullopt;
  const std::string sysfs = *device.numa_node < 0
                                ? "sysfs reports no NUMA node"
                                : fmt::format("sysfs reports NUMA node {}", *device.numa_node);
  return unknown(address, fmt::format("{}, and its local CPUs are on {}", sysfs,
                                      counted(placement->numa_nodes.size(), "NUMA node")));
}

std::optional<Finding> judge_expected(const Snapshot& snapshot, const PciDevice& device,
                                      unsigned expected) {
  const std::string& address = device.address;
  const topo::NumaSources words = topo::numa_sources(snapshot, address);
  const unsigned local = words.local_cpus.value_or(expected);
  const unsigned sysfs = words.sysfs.value_or(expected);
  const auto misplaced = [&](unsigned observed, std::string message) {
    return failed(address, std::move(message), Remedy::report_to_provider, {observed, expected});
  };
  if (words.contradict()) {
    return misplaced(
        sysfs == expected ? local : sysfs,
        fmt::format("on NUMA node {} in sysfs but {} by its local CPUs (hwloc), expected {}", sysfs,
                    local, expected));
  }
  const unsigned node = local != expected ? local : sysfs;
  if (node == expected) return missing_source(snapshot, device);
  return misplaced(node, fmt::format("on NUMA node {}, expected {}", node, expected));
}

// Without an expected node, the two sources must still agree.
std::optional<Finding> judge_unexpected(const Snapshot& snapshot, const Placement& placement) {
  const topo::NumaSources words = topo::numa_sources(snapshot, placement.address);
  if (!words.contradict()) return std::nullopt;
  return warned(placement.address,
                fmt::format("on NUMA node {} in sysfs but {} by its local CPUs (hwloc)",
                            *words.sysfs, *words.local_cpus),
                Remedy::report_to_provider, {*words.sysfs});
}

struct NumaFindings {
  Findings findings;
  std::size_t judged = 0;    // against the profile
  std::size_t compared = 0;  // one source with the other
};

void judge_all_expected(const Snapshot& snapshot, const Profile& profile, NumaFindings& tally) {
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

void compare_others(const Snapshot& snapshot, const Profile& profile, NumaFindings& tally) {
  for (const Placement& placement : snapshot.topology->devices) {
    if (topo::expected_node(profile, placement.address)) continue;
    ++tally.compared;
    append(tally.findings, judge_unexpected(snapshot, placement));
  }
}

// Equal GPUs should be spread evenly over the NUMA nodes. One too many here and one too few there
// means that one is reported on the wrong node.
void judge_balance(const Snapshot& snapshot, NumaFindings& tally) {
  std::map<std::pair<unsigned, unsigned>, std::map<int, std::size_t>> kinds;
  for (const PciDevice& device : snapshot.pci->devices) {
    if (device.kind != PciKind::gpu || pci::is_silent(device) || !device.numa_node) continue;
    ++kinds[{device.vendor, device.device}][*device.numa_node];
  }
  for (const auto& [kind, nodes] : kinds) {
    std::size_t all = 0;
    std::vector<std::string> words;
    for (const auto& [node, count] : nodes) {
      all += count;
      words.push_back(node < 0 ? fmt::format("{} on none", count)
                               : fmt::format("{} on node {}", count, node));
    }
    const auto [least, most] =
        std::ranges::minmax_element(nodes, {}, [](const auto& each) { return each.second; });
    const bool off_by_one = most->second == least->second + 2 && all % nodes.size() == 0;
    const bool one_nowhere = nodes.begin()->first < 0 && nodes.size() > 1;
    if (all < 4 || !(off_by_one || one_nowhere)) continue;
    tally.findings.push_back(warned(kNode,
                                    fmt::format("{} spread unevenly over NUMA nodes: {}",
                                                counted(all, "GPU"), fmt::join(words, ", ")),
                                    Remedy::report_to_provider));
  }
}

Finding summary(const NumaFindings& tally, bool expects) {
  if (tally.judged > 0) {
    return passed(fmt::format("{} on the expected NUMA nodes", counted(tally.judged, "device")));
  }
  if (expects) return skipped("no expected device on the PCI bus: see pci.devices");
  if (tally.compared == 0) return not_expected("NUMA placement");
  return passed(fmt::format("sysfs and local CPUs agree about the NUMA nodes of {}",
                            counted(tally.compared, "device")));
}

Findings judge(const Snapshot& snapshot, const Profile& profile) {
  const TopoNumaLimits& limits = profile.topo->numa;
  const bool expects = !limits.gpu.empty() || !limits.hca.empty() || !limits.nvme.empty();
  if (!snapshot.pci.ok() || !snapshot.topology.ok()) {
    const std::string& why = snapshot.pci.ok() ? snapshot.topology.reason : snapshot.pci.reason;
    if (!expects) return {not_expected("NUMA placement")};
    return {unknown(kNode, fmt::format("the placement of devices is not known: {}", why))};
  }
  NumaFindings tally;
  judge_all_expected(snapshot, profile, tally);
  compare_others(snapshot, profile, tally);
  if (limits.gpu.empty()) judge_balance(snapshot, tally);
  if (tally.findings.empty()) return {summary(tally, expects)};
  return std::move(tally.findings);
}

}  // namespace

constinit const Check check{
    .id = "topo.numa",
    .title = "GPUs, HCAs and NVMe devices are on their NUMA nodes",
    .why =
        "Jobs bind processes to the CPUs next to their GPU. If the firmware or the hypervisor "
        "reports a wrong NUMA node, every transfer crosses the socket. sysfs's numa_node and the "
        "device's local CPUs can differ, and libraries use one or the other, so both are judged. "
        "If the profile lists no placement, equal GPUs that are spread unevenly over the NUMA "
        "nodes warn.",
    .fix =
        "Look at the firmware settings (NUMA nodes per socket, SR-IOV); in a cloud, report the "
        "node to the provider.",
    .code = "NHC2010",
    .needs = Probe::pci | Probe::topology,
    .when_absent = WhenAbsent::judge,
    .judge = judge,
};

}  // namespace muster::checks::topo_numa
