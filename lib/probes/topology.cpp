// SPDX-License-Identifier: Apache-2.0
// Where GPUs, HCAs and NVMe devices sit, by hwloc. Its word comes from the devices' local CPUs, so
// it is a second source beside sysfs's numa_node.
#include <fmt/format.h>
#include <hwloc.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>
#include <vector>

#include "lib/base/text.hpp"
#include "lib/probes/probes.hpp"

namespace muster {
namespace {

struct DestroyTopology {
  void operator()(hwloc_topology_t topology) const { hwloc_topology_destroy(topology); }
};

using TopologyHandle = std::unique_ptr<std::remove_pointer_t<hwloc_topology_t>, DestroyTopology>;

// hwloc is steered by variables. The caller's must not lead it elsewhere (another root, an XML
// file, a synthetic machine), and the defaults cost ten times what is needed here: of all its
// components only `linux` reads sysfs; x86 would ask this machine's processor on behalf of
// another's tree, and the plugins open OpenCL and X.
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

// Groups stay because hwloc hangs NUMA nodes and devices on them once packages are filtered out;
// caches, cores and distances are never read. CPUs and nodes that this process may not use stay
// too.
bool choose_what_to_load(hwloc_topology_t topology) {
  constexpr auto kImportant = HWLOC_TYPE_FILTER_KEEP_IMPORTANT;
  constexpr unsigned long kFlags =
      HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED | HWLOC_TOPOLOGY_FLAG_NO_DISTANCES |
      HWLOC_TOPOLOGY_FLAG_NO_MEMATTRS | HWLOC_TOPOLOGY_FLAG_NO_CPUKINDS;
  return hwloc_topology_set_all_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_NONE) == 0 &&
         hwloc_topology_set_type_filter(
             topology, HWLOC_OBJ_GROUP, HWLOC_TYPE_FILTER_KEEP_STRUCTURE) == 0 &&
         hwloc_topology_set_type_filter(topology, HWLOC_OBJ_PCI_DEVICE, kImportant) == 0 &&
         hwloc_topology_set_type_filter(topology, HWLOC_OBJ_BRIDGE, kImportant) == 0 &&
         hwloc_topology_set_type_filter(topology, HWLOC_OBJ_OS_DEVICE, kImportant) == 0 &&
         hwloc_topology_set_flags(topology, kFlags) == 0;
}

Result<TopologyHandle> load(const Root& root) {
  set_variables(root);
  hwloc_topology_t raw = nullptr;
  if (hwloc_topology_init(&raw) != 0) return make_error("start hwloc: out of memory");
  TopologyHandle topology(raw);
  if (!choose_what_to_load(raw) || hwloc_topology_load(raw) != 0) {
    return make_error(
        fmt::format("load the topology with hwloc: {}", std::generic_category().message(errno)));
  }
  return topology;
}

std::string address_of(const hwloc_obj_attr_u::hwloc_pcidev_attr_s& pci) {
  return fmt::format("{:04x}:{:02x}:{:02x}.{:x}", pci.domain, pci.bus, pci.dev, pci.func);
}

// The operating system's name of the given kind for the device; empty when it has none.
std::string os_device(hwloc_obj_t device, hwloc_obj_osdev_type_t type) {
  for (hwloc_obj_t child = device->io_first_child; child != nullptr; child = child->next_sibling) {
    if (child->type == HWLOC_OBJ_OS_DEVICE && child->attr->osdev.type == type &&
        child->name != nullptr) {
      return printable(child->name, 64);
    }
  }
  return {};
}

std::vector<std::string> bridges_above(hwloc_obj_t device) {
  std::vector<std::string> bridges;
  for (hwloc_obj_t above = device->parent; above != nullptr; above = above->parent) {
    // Host bridges have no address of their own.
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
  const hwloc_obj_t place = hwloc_get_non_io_ancestor_obj(topology, device);
  if (place == nullptr || place->nodeset == nullptr) return nodes;
  for (int node = hwloc_bitmap_first(place->nodeset); node >= 0;
       node = hwloc_bitmap_next(place->nodeset, node)) {
    nodes.push_back(static_cast<unsigned>(node));
  }
  return nodes;
}

enum class Kind { gpu, hca, nvme, other };

Kind kind_of(hwloc_obj_t device) {
  constexpr unsigned kVgaClass = 0x0300;
  constexpr unsigned kDisplay3dClass = 0x0302;
  constexpr unsigned kAcceleratorClass = 0x1200;
  constexpr unsigned kInfinibandClass = 0x0207;
  constexpr unsigned kNvmeClass = 0x0108;
  const auto& pci = device->attr->pcidev;
  const bool gpu_vendor = pci.vendor_id == 0x10de || pci.vendor_id == 0x1002;
  if (gpu_vendor && (pci.class_id == kDisplay3dClass || pci.class_id == kVgaClass ||
                     pci.class_id == kAcceleratorClass)) {
    return Kind::gpu;
  }
  if (pci.class_id == kNvmeClass) return Kind::nvme;
  // An HCA whose port is set to Ethernet has the class of a network card.
  const bool rdma = !os_device(device, HWLOC_OBJ_OSDEV_OPENFABRICS).empty();
  return pci.class_id == kInfinibandClass || rdma ? Kind::hca : Kind::other;
}

std::string name_of(hwloc_obj_t device, Kind kind) {
  if (kind == Kind::hca) return os_device(device, HWLOC_OBJ_OSDEV_OPENFABRICS);
  if (kind == Kind::nvme) return os_device(device, HWLOC_OBJ_OSDEV_BLOCK);
  return {};
}

}  // namespace

Section<Topology> probe_topology(const Root& root) {
  const auto topology = load(root);
  if (!topology) {
    Section<Topology> section;
    section.status = Status::error;
    section.reason = topology.error().message;
    return section;
  }
  Topology facts;
  hwloc_obj_t device = nullptr;
  while ((device = hwloc_get_next_pcidev(topology->get(), device)) != nullptr) {
    const Kind kind = kind_of(device);
    if (kind == Kind::other) continue;
    facts.devices.push_back({.address = address_of(device->attr->pcidev),
                             .os_device = name_of(device, kind),
                             .numa_nodes = numa_nodes_of(topology->get(), device),
                             .bridges = bridges_above(device)});
  }
  std::ranges::sort(facts.devices, {}, &Placement::address);
  return observed(std::move(facts));
}

}  // namespace muster
