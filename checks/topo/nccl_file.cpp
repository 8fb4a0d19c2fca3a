// SPDX-License-Identifier: Apache-2.0
// topo.nccl_file: NCCL's topology file exists, parses, and matches the PCI devices and CPUs of this
// node.

#include <set>

#include "checks/catalogue.hpp"
#include "checks/shared/pci_bus.hpp"

namespace muster::checks::topo_nccl_file {
namespace {

// The path for findings about a file that could not be read.
std::string path_of(const Snapshot& snapshot, const Profile& profile) {
  const Environment& environment = *snapshot.environment;
  if (environment.nccl_topology) return environment.nccl_topology->path;
  if (profile.topo->nccl_file.path) return *profile.topo->nccl_file.path;
  std::string path(kNode);
  if (environment.nccl) {
    for (const NcclSetting& setting : *environment.nccl) {
      if (setting.name == "NCCL_TOPO_FILE") path = setting.value;
    }
  }
  return path;
}

// Devices that this kind of node should have. If one is missing, the file is not at fault.
std::set<std::string> expected_addresses(const Profile& profile) {
  std::set<std::string> addresses;
  const TopoNumaLimits& numa = profile.topo->numa;
  for (const auto* nodes : {&numa.gpu, &numa.hca, &numa.nvme}) {
    for (const auto& [address, node] : *nodes) addresses.insert(address);
  }
  for (const auto& [gpu, hca] : profile.topo->pairing.pairs) addresses.insert({gpu, hca});
  return addresses;
}

std::vector<std::string> unknown_addresses_in(const Snapshot& snapshot, const Profile& profile,
                                              const NcclTopology& topology) {
  std::set<std::string> known = expected_addresses(profile);
  for (const PciDevice& device : snapshot.pci->devices) known.insert(device.address);
  std::vector<std::string> unknown;
  for (const std::string& address : topology.pci_addresses) {
    if (!known.contains(lower_case(address))) unknown.push_back(address);
  }
  return unknown;
}

// GPUs and HCAs of this node that the file leaves out although it names others of their kind. Empty
// if a GPU of the node is missing, which is the actual fault.
std::vector<std::string> left_out(const Snapshot& snapshot, const Profile& profile,
                                  const NcclTopology& topology) {
  const auto gpus = std::ranges::count(snapshot.pci->devices, PciKind::gpu, &PciDevice::kind);
  if (gpus < profile.gpu->present.count.value_or(0)) return {};
  std::set<std::string> named;
  for (const std::string& address : topology.pci_addresses) named.insert(lower_case(address));
  std::vector<std::string> missing;
  for (const auto kind : {PciKind::gpu, PciKind::hca}) {
    std::vector<std::string> others;
    std::size_t all = 0;
    for (const PciDevice& device : snapshot.pci->devices) {
      if (device.kind != kind || device.virtual_function) continue;
      ++all;
      if (!named.contains(device.address)) others.push_back(device.address);
    }
    if (others.size() < all) missing.insert(missing.end(), others.begin(), others.end());
  }
  return missing;
}

// The CPUs of a mask such as "ffff,ffffffff,ffffffff": groups of 32 bits, the lowest last.
std::optional<std::vector<unsigned>> cpus_of_mask(std::string_view mask) {
  std::vector<unsigned> cpus;
  unsigned base = 0;
  auto groups = split(mask, ',');
  std::ranges::reverse(groups);
  if (groups.size() > 64) return std::nullopt;
  for (const std::string_view group : groups) {
    const auto bits = parse_hex(group);
    if (!bits || *bits > 0xffffffffU) return std::nullopt;
    for (unsigned bit = 0; bit < 32; ++bit) {
      if ((*bits >> bit & 1U) != 0) cpus.push_back(base + bit);
    }
    base += 32;
  }
  return cpus;
}

// Describes the first CPU of `mask` that is on another NUMA node than `id`. Offline CPUs are on no
// node.
std::optional<std::string> stray_cpu(const Snapshot& snapshot, std::uint64_t id,
                                     const std::vector<unsigned>& mask) {
  if (!snapshot.cpu->numa_nodes) return std::nullopt;
  for (const NumaNode& node : *snapshot.cpu->numa_nodes) {
    const auto cpus = parse_cpu_list(node.cpus.value_or(""));
    if (node.id == id || !cpus) continue;
    const auto stray = std::ranges::find_first_of(mask, *cpus);
    if (stray != mask.end()) {
      return fmt::format("assigns CPU {} to NUMA node {}, but it is on {}", *stray, id, node.id);
    }
  }
  return std::nullopt;
}

// Masks with CPUs of another NUMA node. NCCL binds its threads by these masks.
std::vector<std::string> wrong_masks(const Snapshot& snapshot, const NcclTopology& topology) {
  std::vector<std::string> wrong_ones;
  for (const std::string& entry : topology.cpu_affinities) {
    const auto equals = entry.find('=');
    if (equals == std::string::npos) continue;
    const auto id = parse_unsigned(std::string_view(entry).substr(0, equals));
    const auto mask = cpus_of_mask(std::string_view(entry).substr(equals + 1));
    if (!id || !mask) continue;
    if (auto stray = stray_cpu(snapshot, *id, *mask)) wrong_ones.push_back(*std::move(stray));
  }
  return wrong_ones;
}

Finding judge_topology(const Snapshot& snapshot, const Profile& profile,
                       const NcclTopology& topology) {
  if (topology.pci_addresses.empty())
    return failed(topology.path, "names no PCI device", Remedy::fix_config);
  if (!snapshot.pci.ok()) {
    return unknown(topology.path, fmt::format("the PCI bus is unknown: {}", snapshot.pci.reason));
  }
  const auto others = unknown_addresses_in(snapshot, profile, topology);
  if (!others.empty()) {
    return failed(topology.path,
                  fmt::format("names {} missing from this node: {}",
                              counted(others.size(), "PCI device"), fmt::join(others, ", ")),
                  Remedy::fix_config, {others.front()});
  }
  const auto masks = wrong_masks(snapshot, topology);
  if (!masks.empty()) {
    return warned(topology.path, fmt::format("{}", fmt::join(masks, "; ")), Remedy::fix_config);
  }
  const auto missing = left_out(snapshot, profile, topology);
  if (!missing.empty()) {
    return warned(topology.path,
                  fmt::format("leaves out {} of this node: {}", counted(missing.size(), "device"),
                              fmt::join(missing, ", ")),
                  Remedy::fix_config);
  }
  return passed(fmt::format("{} names {} of this node", topology.path,
                            counted(topology.pci_addresses.size(), "PCI device")));
}

Findings judge(const Snapshot& snapshot, const Profile& profile) {
  if (!snapshot.environment.ok()) {
    if (!profile.topo->nccl_file.path) return {not_expected("NCCL topology file")};
    return {
        unknown(kNode, fmt::format("the environment is unknown: {}", snapshot.environment.reason))};
  }
  const auto& topology = snapshot.environment->nccl_topology;
  if (topology) return {judge_topology(snapshot, profile, *topology)};
  if (topology.is_absent() && !profile.topo->nccl_file.path) return {skipped(topology.why())};
  return {failed(path_of(snapshot, profile), topology.why(), Remedy::fix_config)};
}

}  // namespace

constinit const Check check{
    .id = "topo.nccl_file",
    .title = "NCCL's topology file exists, parses and matches this node",
    .why =
        "Below a hypervisor NCCL cannot see which GPU and HCA share a switch, and relies on its "
        "topology file. A missing file, or one for another size, silently halves the bandwidth.",
    .fix = "Install the file for this size, and set it in /etc/nccl.conf (NCCL_TOPO_FILE).",
    .needs = Probe::environment | Probe::pci,
    .looks_at = Probe::cpu,
    .when_absent = WhenAbsent::judge,
    .judge = judge,
};

}  // namespace muster::checks::topo_nccl_file
