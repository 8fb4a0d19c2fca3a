// SPDX-License-Identifier: Apache-2.0
// The placement of GPUs, HCAs and NVMe devices by hwloc, which uses the devices' local CPUs: a
// second source next to sysfs's numa_node.
#include <fmt/format.h>
#include <hwloc.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <memory>
#include <type_traits>

#include "lib/base/text.hpp"
#include "lib/probes/attributes.hpp"
#include "lib/probes/probes.hpp"

namespace muster {
namespace {

struct DestroyTopology {
  void operator()(hwloc_topology_t topology) const { hwloc_topology_destroy(topology); }
};

using TopologyHandle = std::unique_ptr<std::remove_pointer_t<hwloc_topology_t>, DestroyTopology>;

// Clears the caller's HWLOC_* variables, which could select another root, an XML file or a
// synthetic machine. Loads only the component `linux`, which reads sysfs: the defaults cost ten
// times as much, x86 would query this machine's processor for another's tree, and plugins open
// OpenCL and X.
void set_variables(const Root& root) {
  std::vector<std::string> inherited;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view variable(*entry);
    if (variable.starts_with("HWLOC_"))
      inherited.emplace_back(variable.substr(0, variable.find('=')));
  }
  for (const std::string& name : inherited) ::unsetenv(name.c_str());
  ::setenv("HWLOC_COMPONENTS", "linux,stop", 1);
  ::setenv("HWLOC_PLUGINS_PATH", "/nonexistent", 1);
  ::setenv("HWLOC_HIDE_ERRORS", "2", 1);  // nothing on the caller's stderr
  if (root.foreign()) ::setenv("HWLOC_FSROOT", root.path().c_str(), 1);
}

// Keeps groups, because hwloc attaches NUMA nodes and devices to them once packages are filtered
// out, and the CPUs and nodes that this process may not use.
bool choose_what_to_load(hwloc_topology_t topology) {
  constexpr auto kImportant = HWLOC_TYPE_FILTER_KEEP_IMPORTANT;
  constexpr unsigned long kFlags =
      HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED | HWLOC_TOPOLOGY_FLAG_NO_DISTANCES |
      HWLOC_TOPOLOGY_FLAG_NO_MEMATTRS | HWLOC_TOPOLOGY_FLAG_NO_CPUKINDS;
  return hwloc_topology_set_all_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_NONE) == 0 &&
         hwloc_topology_set_type_filter(topology, HWLOC_OBJ_GROUP,
                                        HWLOC_TYPE_FILTER_KEEP_STRUCTURE) == 0 &&
         hwloc_topology_set_type_filter(topology, HWLOC_OBJ_PCI_DEVICE, kImportant) == 0 &&
         hwloc_topology_set_type_filter(topology, HWLOC_OBJ_BRIDGE, kImportant) == 0 &&
         hwloc_topology_set_flags(topology, kFlags) == 0;
}

Result<TopologyHandle> load(const Root& root) {
  set_variables(root);
  hwloc_topology_t raw = nullptr;
  if (hwloc_topology_init(&raw) != 0) return make_error("start hwloc: out of memory");
  TopologyHandle topology(raw);
  if (!choose_what_to_load(raw) || hwloc_topology_load(raw) != 0) {
    return os_error("load", "the topology with hwloc", errno);
  }
  return topology;
}

std::string address_of(const hwloc_obj_attr_u::hwloc_pcidev_attr_s& pci) {
  return fmt::format("{:04x}:{:02x}:{:02x}.{:x}", pci.domain, pci.bus, pci.dev, pci.func);
}

std::vector<std::string> bridges_above(hwloc_obj_t device) {
  std::vector<std::string> bridges;
  for (hwloc_obj_t above = device->parent; above != nullptr; above = above->parent) {
    // Host bridges have no address.
    if (above->type == HWLOC_OBJ_BRIDGE &&
        above->attr->bridge.upstream_type == HWLOC_OBJ_BRIDGE_PCI) {
      bridges.push_back(address_of(above->attr->bridge.upstream.pci));
    }
  }
  std::ranges::reverse(bridges);
  return bridges;
}

std::vector<unsigned> numa_nodes_of(hwloc_topology_t topology, hwloc_obj_t device) {
  std::vector<unsigned> nodes;
  hwloc_obj* const place = hwloc_get_non_io_ancestor_obj(topology, device);
  if (place == nullptr || place->nodeset == nullptr) return nodes;
  for (int node = hwloc_bitmap_first(place->nodeset); node >= 0;
       node = hwloc_bitmap_next(place->nodeset, node)) {
    nodes.push_back(static_cast<unsigned>(node));
  }
  return nodes;
}

// The first name in `folder` that begins with `start`; empty if there is none.
std::string first_name(const Root& root, const std::string& folder, std::string_view start) {
  const auto names = root.list(folder);
  if (!names) return {};
  const auto found = std::ranges::find_if(
      *names, [&](const std::string& name) { return name.starts_with(start); });
  return found == names->end() ? std::string() : printable(*found, 64);
}

std::string rdma_name(const Root& root, const std::string& address) {
  return first_name(root, fmt::format("/sys/bus/pci/devices/{}/infiniband", address), "");
}

// "nvme0n1": the first namespace of the controller.
std::string nvme_name(const Root& root, const std::string& address) {
  const std::string folder = fmt::format("/sys/bus/pci/devices/{}/nvme", address);
  const std::string controller = first_name(root, folder, "nvme");
  if (controller.empty()) return {};
  return first_name(root, fmt::format("{}/{}", folder, controller), fmt::format("{}n", controller));
}

// The device's name in the operating system (empty for GPUs); none if its placement does not
// matter.
std::optional<std::string> name_of(const Root& root,
                                   const hwloc_obj_attr_u::hwloc_pcidev_attr_s& pci) {
  const std::string address = address_of(pci);
  if (pci_class::is_gpu(pci.class_id, pci.vendor_id)) return std::string();
  if (pci.class_id == pci_class::kNvme) return nvme_name(root, address);
  if (pci.class_id >> 8U != pci_class::kNetworkBase) return std::nullopt;
  // An HCA in Ethernet mode has the class of a network card.
  std::string rdma = rdma_name(root, address);
  if (rdma.empty() && pci.class_id != pci_class::kInfiniband) return std::nullopt;
  return rdma;
}

}  // namespace

Section<Topology> probe_topology(const Root& root) {
  const auto topology = load(root);
  if (!topology) return not_observed<Topology>(topology.error().message);
  Topology facts;
  hwloc_obj_t device = nullptr;
  while ((device = hwloc_get_next_pcidev(topology->get(), device)) != nullptr) {
    auto name = name_of(root, device->attr->pcidev);
    if (!name) continue;
    facts.devices.push_back({.address = address_of(device->attr->pcidev),
                             .os_device = *std::move(name),
                             .numa_nodes = numa_nodes_of(topology->get(), device),
                             .bridges = bridges_above(device)});
  }
  std::ranges::sort(facts.devices, {}, &Placement::address);
  return observed(std::move(facts));
}

}  // namespace muster
