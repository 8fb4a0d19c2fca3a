// SPDX-License-Identifier: Apache-2.0
// Where devices are: their NUMA nodes, and how close GPUs are to their HCAs. Two sources may
// differ: sysfs's numa_node, and the local CPUs of the device (hwloc).
#include <fmt/ranges.h>

#include <map>

#include "checks/catalogue.hpp"
#include "checks/shared/pci_bus.hpp"

namespace muster::checks {
namespace {

// Null if it is not on the bus or no longer responds, which pci.devices reports.
const PciDevice* on_bus(const Snapshot& snapshot, const std::string& address) {
  const PciDevice* device = pci::device_at(snapshot, address);
  return device == nullptr || pci::is_silent(*device) ? nullptr : device;
}

const Placement* placement_of(const Snapshot& snapshot, const std::string& address) {
  const auto& all = snapshot.topology->devices;
  const auto found = std::ranges::find(all, address, &Placement::address);
  return found == all.end() ? nullptr : &*found;
}

// The NUMA node of a device from each source.
struct NumaSources {
  std::optional<unsigned> sysfs;
  std::optional<unsigned> local_cpus;

  [[nodiscard]] bool contradict() const { return sysfs && local_cpus && sysfs != local_cpus; }
};

NumaSources numa_sources(const Snapshot& snapshot, const std::string& address) {
  NumaSources words;
  const PciDevice* device = on_bus(snapshot, address);
  if (device != nullptr && device->numa_node && *device->numa_node >= 0) {
    words.sysfs = static_cast<unsigned>(*device->numa_node);
  }
  const Placement* placement = placement_of(snapshot, address);
  if (placement != nullptr && placement->numa_nodes.size() == 1) {
    words.local_cpus = placement->numa_nodes.front();
  }
  return words;
}

std::optional<unsigned> expected_node(const Profile& profile, const std::string& address) {
  const TopoNumaLimits& limits = profile.topo->numa;
  for (const auto* nodes : {&limits.gpu, &limits.hca, &limits.nvme}) {
    if (const auto found = nodes->find(address); found != nodes->end()) {
      return static_cast<unsigned>(found->second);
    }
  }
  return std::nullopt;
}

// True if topo.numa fails the device: the sources contradict the profile or each other.
bool is_misplaced(const Snapshot& snapshot, const Profile& profile, const std::string& address) {
  const auto expected = expected_node(profile, address);
  const NumaSources words = numa_sources(snapshot, address);
  if (words.contradict()) return true;
  return expected && (words.sysfs.value_or(*expected) != *expected ||
                      words.local_cpus.value_or(*expected) != *expected);
}

// topo.numa: every GPU, HCA and NVMe device is on its expected NUMA node, in sysfs and by its local
// CPUs.

// Unknown if only one source reports a NUMA node.
std::optional<Finding> missing_source(const Snapshot& snapshot, const PciDevice& device) {
  const std::string& address = device.address;
  if (!device.numa_node) return not_known(address, "the NUMA node in sysfs", device.numa_node);
  const Placement* placement = placement_of(snapshot, address);
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
  const NumaSources words = numa_sources(snapshot, address);
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

struct NumaFindings {
  Findings findings;
  std::size_t judged = 0;    // against the profile
  std::size_t compared = 0;  // one source with the other
};

void judge_devices(const Snapshot& snapshot, const Profile& profile, NumaFindings& tally) {
  const TopoNumaLimits& limits = profile.topo->numa;
  for (const auto* nodes : {&limits.gpu, &limits.hca, &limits.nvme}) {
    for (const auto& [address, expected] : *nodes) {
      const PciDevice* device = on_bus(snapshot, address);
      if (device == nullptr) continue;
      ++tally.judged;
      append(tally.findings, judge_expected(snapshot, *device, static_cast<unsigned>(expected)));
    }
  }
  // Without an expected node, the two sources must still agree.
  for (const Placement& placement : snapshot.topology->devices) {
    if (expected_node(profile, placement.address)) continue;
    ++tally.compared;
    const NumaSources words = numa_sources(snapshot, placement.address);
    if (!words.contradict()) continue;
    tally.findings.push_back(
        warned(placement.address,
               fmt::format("on NUMA node {} in sysfs but {} by its local CPUs (hwloc)",
                           *words.sysfs, *words.local_cpus),
               Remedy::report_to_provider, {*words.sysfs}));
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

Finding numa_summary(const NumaFindings& tally, bool expects) {
  if (tally.judged > 0) {
    return passed(fmt::format("{} on the expected NUMA nodes", counted(tally.judged, "device")));
  }
  if (expects) return skipped("no expected device on the PCI bus: see pci.devices");
  if (tally.compared == 0) return not_expected("NUMA placement");
  return passed(fmt::format("sysfs and local CPUs agree about the NUMA nodes of {}",
                            counted(tally.compared, "device")));
}

Findings judge_numa(const Snapshot& snapshot, const Profile& profile) {
  const TopoNumaLimits& limits = profile.topo->numa;
  const bool expects = !limits.gpu.empty() || !limits.hca.empty() || !limits.nvme.empty();
  if (!snapshot.pci.ok() || !snapshot.topology.ok()) {
    const std::string& why = snapshot.pci.ok() ? snapshot.topology.reason : snapshot.pci.reason;
    if (!expects) return {not_expected("NUMA placement")};
    return {unknown(kNode, fmt::format("the placement of devices is unknown: {}", why))};
  }
  NumaFindings tally;
  judge_devices(snapshot, profile, tally);
  if (limits.gpu.empty()) judge_balance(snapshot, tally);
  if (tally.findings.empty()) return {numa_summary(tally, expects)};
  return std::move(tally.findings);
}

// topo.virtual: reports that a hypervisor hides the PCIe switches, so that placement is judged by
// the profile's tree.

Findings judge_virtual_tree(const Snapshot& snapshot, const Profile& profile) {
  if (!snapshot.identity->hypervisor) return {skipped("no hypervisor: PCIe switches are visible")};
  if (!snapshot.pci.ok()) {
    return {skipped(fmt::format("the PCI bus is unknown: {}", snapshot.pci.reason))};
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

// topo.pairing: each GPU is as close to its HCA as the profile expects. Pairs are PCI addresses,
// because indices and names depend on the image.

struct GpuHcaPair {
  const PciDevice* gpu = nullptr;
  const PciDevice* hca = nullptr;
};

// The bridges from hwloc, or else from the kernel.
const std::vector<std::string>& bridges_of(const Snapshot& snapshot, const PciDevice& device) {
  const Placement* placement = placement_of(snapshot, device.address);
  return placement == nullptr ? device.upstream : placement->bridges;
}

std::optional<Finding> judge_numa(const Snapshot& snapshot, const GpuHcaPair& pair) {
  const auto node_of = [&](const PciDevice& device) {
    const NumaSources words = numa_sources(snapshot, device.address);
    return words.local_cpus ? words.local_cpus : words.sysfs;
  };
  const auto gpu = node_of(*pair.gpu);
  const auto hca = node_of(*pair.hca);
  if (!gpu || !hca) {
    return unknown(pair.gpu->address,
                   fmt::format("the NUMA node of {} is unknown",
                               gpu ? fmt::format("its HCA {}", pair.hca->address) : "the GPU"));
  }
  if (*gpu == *hca) return std::nullopt;
  return failed(pair.gpu->address,
                fmt::format("on NUMA node {} but its HCA {} on {}, expected the same", *gpu,
                            pair.hca->address, *hca),
                Remedy::report_to_provider, {*hca, *gpu});
}

std::optional<Finding> judge_switch(const Snapshot& snapshot, const GpuHcaPair& pair) {
  // A common bridge means one root port, and so one switch.
  const auto& gpu = bridges_of(snapshot, *pair.gpu);
  const auto& hca = bridges_of(snapshot, *pair.hca);
  if (std::ranges::find_first_of(gpu, hca) != gpu.end()) return std::nullopt;
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
      is_misplaced(snapshot, profile, pair.gpu->address) ||
      is_misplaced(snapshot, profile, pair.hca->address)) {
    ++tally.left_out;
    return;
  }
  ++tally.judged;
  const bool by_switch = profile.topo->pairing.nearest == Nearest::same_switch;
  const bool hidden = by_switch && bridges_of(snapshot, *pair.gpu).empty() &&
                      bridges_of(snapshot, *pair.hca).empty();
  if (hidden) ++tally.hidden;
  append(tally.findings,
         by_switch && !hidden ? judge_switch(snapshot, pair) : judge_numa(snapshot, pair));
}

std::string pairing_summary(const PairFindings& tally, bool by_switch) {
  std::string_view where = by_switch ? "below the same switch" : "on the same NUMA node";
  if (tally.hidden > 0) where = "on the same NUMA node; PCIe switches are hidden and not judged";
  const auto left_out = tally.left_out > 0 ? fmt::format("; {} left out", tally.left_out) : "";
  return fmt::format("{} of GPU and HCA {}{}", counted(tally.judged, "pair"), where, left_out);
}

Findings judge_pairing(const Snapshot& snapshot, const Profile& profile) {
  const TopoPairingLimits& limits = profile.topo->pairing;
  if (!snapshot.pci.ok() || !snapshot.topology.ok()) {
    const std::string& why = snapshot.pci.ok() ? snapshot.topology.reason : snapshot.pci.reason;
    return {unknown(kNode, fmt::format("the placement of devices is unknown: {}", why))};
  }
  PairFindings tally;
  for (const auto& [gpu, hca] : limits.pairs) {
    judge_pair(snapshot, profile, {on_bus(snapshot, gpu), on_bus(snapshot, hca)}, tally);
  }
  if (tally.judged == 0) {
    return {skipped("no pair is complete and in place: see pci.devices and topo.numa")};
  }
  return or_pass(std::move(tally.findings),
                 pairing_summary(tally, limits.nearest == Nearest::same_switch));
}

}  // namespace

constinit const Check topo_numa::check{
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
    .judge = judge_numa,
};

constinit const Check topo_virtual::check{
    .id = "topo.virtual",
    .title = "PCIe switches are visible, or the profile has their tree",
    .why =
        "Hypervisors give each device its own PCI domain and hide the switches, so the distance "
        "between GPU and HCA cannot be observed. Then the profile's expected tree is used, and the "
        "report says so.",
    .fix = "Nothing is wrong. If the profile has no tree for this size, add topo.pairing.pairs.",
    .needs = Probe::pci | Probe::identity,
    .when_absent = WhenAbsent::judge,
    .judge = judge_virtual_tree,
};

constinit const Check topo_pairing::check{
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
    .not_applicable =
        [](const Snapshot&, const Profile& profile) {
          return unless(!profile.topo->pairing.pairs.empty(), not_expected("pairs of GPU and HCA"));
        },
    .judge = judge_pairing,
};

}  // namespace muster::checks
