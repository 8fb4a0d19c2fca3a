// SPDX-License-Identifier: Apache-2.0

#include <algorithm>

#include "checks/make_profile/draft.hpp"
#include "checks/shared/nvlinks.hpp"
#include "checks/shared/pci_bus.hpp"
#include "lib/base/text.hpp"

namespace muster::app {
namespace {

constexpr std::string_view kNvidia = "10de:";
constexpr std::string_view kAmd = "1002:";

YamlValue above_zero(const std::optional<int>& count) {
  return count.value_or(0) > 0 ? yaml_value(count) : std::nullopt;
}

// The value that all devices share, if any.
template <class Devices, class ValueOf>
YamlValue shared_value(const Devices& devices, ValueOf value_of) {
  YamlValue shared;
  for (const auto& device : devices) {
    const YamlValue value = value_of(device);
    if (!value || value != shared.value_or(*value)) return std::nullopt;
    shared = value;
  }
  return shared;
}

// The value that all GPUs of a node share.
template <class ValueOf>
ProfileDraft::ValueOf of_gpus(ValueOf value_of) {
  return [value_of](const Snapshot& node) {
    return has_nvml_gpus(node) ? shared_value(node.nvml->gpus, value_of) : std::nullopt;
  };
}

YamlValue links_of(const Gpu& gpu) {
  const auto up = checks::gpu::links_where(gpu, checks::gpu::is_up);
  if (up.empty() || !checks::gpu::hides_links(gpu).empty()) return std::nullopt;
  return fmt::format("{}", up.size());
}

YamlValue link_speed_of(const Gpu& gpu) {
  return shared_value(checks::gpu::links_where(gpu, checks::gpu::is_up),
                      [](const NvLink* link) -> YamlValue {
                        if (link->speed_mbps.value_or(0) == 0) return std::nullopt;
                        return fmt::format("{} MB/s", *link->speed_mbps);
                      });
}

YamlValue compute_mode_of(const Gpu& gpu) {
  const auto mode = gpu.modes.compute.value_or(1);
  if (mode == 0) return "default";
  if (mode == 3) return "exclusive_process";
  return std::nullopt;
}

void add_gpus(ProfileDraft& draft) {
  const auto add = [&](std::string_view key, auto value_of) {
    draft.add_if_known(fmt::format("gpu.{}", key), of_gpus(value_of));
  };
  draft.add_if_known("gpu.present.count",
                     [](const Snapshot& node) { return above_zero(gpu_count(node)); });
  draft.add_if_known("gpu.present.vendor", [](const Snapshot& node) -> YamlValue {
    const auto ids = compute_gpus(node);
    if (!ids || ids->empty()) return std::nullopt;
    return ids->begin()->first.starts_with(kNvidia) ? "nvidia" : "amd";
  });
  add("present.model",
      [](const Gpu& gpu) { return gpu.model ? YamlValue(yaml_text(*gpu.model)) : std::nullopt; });
  add("present.memory", [](const Gpu& gpu) -> YamlValue {
    if (!gpu.memory) return std::nullopt;
    return fmt::format("{} KiB", gpu.memory->total / 1024);
  });
  add("ecc_mode.expected", [](const Gpu& gpu) { return yaml_value(gpu.modes.ecc); });
  add("nvlink_state.links", links_of);
  add("nvlink_state.speed", link_speed_of);
  add("clocks.application_sm",
      [](const Gpu& gpu) { return yaml_value(gpu.clocks.application_sm_mhz, "{} MHz"); });
  add("power.limit", [](const Gpu& gpu) -> YamlValue {
    if (!gpu.power.enforced_mw) return std::nullopt;
    return fmt::format("{} W", *gpu.power.enforced_mw / 1000);
  });
  add("mig.expected", [](const Gpu& gpu) { return yaml_value(gpu.modes.mig); });
  add("persistence.expected", [](const Gpu& gpu) { return yaml_value(gpu.modes.persistence); });
  add("p2p.expected", [](const Gpu& gpu) -> YamlValue {
    if (!gpu.peers || gpu.peers->empty()) return std::nullopt;
    const bool all =
        std::ranges::all_of(*gpu.peers, [](const auto& peer) { return peer.second == 0; });
    return all ? YamlValue("true") : std::nullopt;
  });
  add("compute_mode.expected", compute_mode_of);
}

constexpr unsigned kActive = 4;  // the state of a port

// The ACTIVE InfiniBand ports.
std::vector<std::pair<const Hca*, const IbPort*>> active_ports(const Snapshot& node) {
  std::vector<std::pair<const Hca*, const IbPort*>> ports;
  for (const auto& hca : node.infiniband->hcas) {
    if (!hca.ports) continue;
    for (const auto& port : *hca.ports) {
      const bool active = port.state.value_or(0) == kActive;
      if (active && port.link_layer == "InfiniBand") ports.emplace_back(&hca, &port);
    }
  }
  return ports;
}

bool has_spare_ports(const Snapshot& node) {
  std::size_t all = 0;
  for (const auto& hca : node.infiniband->hcas) {
    if (!hca.ports) continue;
    all +=
        static_cast<std::size_t>(std::ranges::count(*hca.ports, "InfiniBand", &IbPort::link_layer));
  }
  return active_ports(node).size() < all;
}

template <class ValueOf>
ProfileDraft::ValueOf of_ports(ValueOf value_of) {
  return [value_of](const Snapshot& node) {
    return shared_value(active_ports(node),
                        [&](const auto& port) { return value_of(*port.second); });
  };
}

YamlValue pkeys_of(const IbPort& port) {
  constexpr unsigned kFullMember = 0x8000;
  constexpr unsigned kDefault = 0xffff;
  if (!port.pkeys) return std::nullopt;
  const bool own = std::ranges::any_of(
      *port.pkeys, [](unsigned key) { return (key & kFullMember) != 0 && key != kDefault; });
  if (own) return "non_default_full_member";
  return std::ranges::count(*port.pkeys, kDefault) > 0 ? YamlValue("default_full_member")
                                                       : std::nullopt;
}

void add_infiniband(ProfileDraft& draft) {
  // A profile with a number of HCAs requires every port to be ACTIVE.
  draft.add_if_known("ib.present.count", [](const Snapshot& node) -> YamlValue {
    return has_spare_ports(node) ? std::nullopt : above_zero(hardware_of(node).infiniband_hcas);
  });
  draft.add_if_known("ib.rate.expected", of_ports([](const IbPort& port) {
                       return yaml_value(port.rate_gbps, "{:g} Gb/s");
                     }));
  draft.add_if_known("ib.rate.width", of_ports([](const IbPort& port) {
                       return port.width.value_or(0) > 4 ? std::nullopt
                                                         : yaml_value(port.width, "{}X");
                     }));
  draft.add_if_known("ib.rate.speed",
                     of_ports([](const IbPort& port) { return yaml_value(port.speed); }));
  draft.add_if_known("ib.pkey.require", of_ports(pkeys_of));
  draft.add_if_known("ib.mtu.active", [](const Snapshot& node) -> YamlValue {
    std::vector<std::uint64_t> sizes;
    for (const auto& device : node.verbs->devices) {
      if (!device.ports) continue;
      for (const auto& port : *device.ports) {
        const bool usable = port.state == kActive && port.active_mtu_bytes > 0 && port.lid > 0;
        if (usable) sizes.push_back(port.active_mtu_bytes);
      }
    }
    return shared_value(sizes, [](std::uint64_t size) { return fmt::format("{} B", size); });
  });
}

// The link speed or width that all devices of a kind share.
ProfileDraft::ValueOf of_links(PciKind kind, bool width) {
  return [kind, width](const Snapshot& node) -> YamlValue {
    auto devices = devices_of(node, kind);
    const auto speed =
        kind == PciKind::gpu ? &PciDevice::link_speed_max_gts : &PciDevice::link_speed_gts;
    std::erase_if(devices, [&](const PciDevice* device) {
      return !(width ? device->link_width.known() : (device->*speed).known());
    });
    return shared_value(devices, [&](const PciDevice* device) {
      return width ? yaml_value(device->link_width) : yaml_value(device->*speed, "{:g} GT/s");
    });
  };
}

void add_bus(ProfileDraft& draft) {
  draft.add_if_known("pci.devices.nvswitches",
                     [](const Snapshot& node) { return above_zero(hardware_of(node).nvswitches); });
  draft.add_if_known("pci.link.gpu.speed", of_links(PciKind::gpu, false));
  draft.add_if_known("pci.link.gpu.width", of_links(PciKind::gpu, true));
  draft.add_if_known("pci.link.hca.speed", of_links(PciKind::hca, false));
  draft.add_if_known("pci.link.hca.width", of_links(PciKind::hca, true));
}

ProfileDraft::ValueOf numa_of(PciKind kind) {
  return [kind](const Snapshot& node) -> YamlValue {
    std::vector<std::string> places;
    for (const auto* device : devices_of(node, kind)) {
      if (device->numa_node.value_or(-1) < 0) continue;
      places.push_back(fmt::format("{}: {}", yaml_text(device->address), *device->numa_node));
    }
    return flow_map(places);
  };
}

// For each GPU, the only HCA below the same root port.
YamlValue pairs_of(const Snapshot& node) {
  std::vector<std::string> pairs;
  for (const auto* gpu : devices_of(node, PciKind::gpu)) {
    if (gpu->upstream.empty()) continue;
    std::vector<std::string> near;
    for (const auto* hca : devices_of(node, PciKind::hca)) {
      if (!hca->upstream.empty() && hca->upstream.front() == gpu->upstream.front()) {
        near.push_back(hca->address);
      }
    }
    if (near.size() != 1) return std::nullopt;
    pairs.push_back(fmt::format("{}: {}", yaml_text(gpu->address), yaml_text(near.front())));
  }
  return flow_map(pairs);
}

YamlValue end_of_link(const NvLink* link) {
  if (checks::gpu::leads_to(*link, checks::gpu::LinkPeer::nvswitch)) return "switch";
  if (checks::gpu::leads_to(*link, checks::gpu::LinkPeer::gpu)) return "gpu";
  return std::nullopt;
}

void add_places(ProfileDraft& draft) {
  draft.add_if_known("topo.numa.gpu", numa_of(PciKind::gpu));
  draft.add_if_known("topo.numa.hca", numa_of(PciKind::hca));
  draft.add_if_known("topo.pairing.nearest", [](const Snapshot& node) -> YamlValue {
    return pairs_of(node) ? YamlValue("same_switch") : std::nullopt;
  });
  draft.add_if_known("topo.pairing.pairs", pairs_of);
  draft.add_if_known("topo.nvlink_matrix.ends_in", of_gpus([](const Gpu& gpu) {
                       return shared_value(checks::gpu::links_where(gpu, checks::gpu::is_up),
                                           end_of_link);
                     }));
}

}  // namespace

void add_devices(ProfileDraft& draft) {
  add_bus(draft);
  add_gpus(draft);
  add_infiniband(draft);
  add_places(draft);
}

std::optional<GpuIds> compute_gpus(const Snapshot& node) {
  auto ids = hardware_of(node).gpu_pci_ids;
  if (!ids) return std::nullopt;
  std::erase_if(*ids, [](const auto& each) {
    return !each.first.starts_with(kNvidia) && !each.first.starts_with(kAmd);
  });
  return ids;
}

std::optional<int> gpu_count(const Snapshot& node) {
  const auto ids = compute_gpus(node);
  if (!ids) return std::nullopt;
  int count = 0;
  for (const auto& [id, each] : *ids) count += each;
  return count;
}

bool has_nvml_gpus(const Snapshot& node) {
  return node.nvml.ok() && node.nvml->trouble.empty() && !node.nvml->gpus.empty();
}

std::string summary_of(const Snapshot& node) {
  std::string text = fmt::format("{} cores", node.cpu->cores.value_or(0));
  if (has_nvml_gpus(node)) {
    text += fmt::format(", {} x {}", node.nvml->gpus.size(),
                        node.nvml->gpus.front().model.value_or("GPU"));
  }
  const auto ports = active_ports(node);
  if (!ports.empty()) {
    text += fmt::format(", {} x {:g} Gb/s InfiniBand", ports.size(),
                        ports.front().second->rate_gbps.value_or(0));
  }
  return text;
}

}  // namespace muster::app
