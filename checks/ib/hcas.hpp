// SPDX-License-Identifier: Apache-2.0
// Which HCAs and ports the checks ib.* are about, and what these checks say alike. Link layer
// InfiniBand decides, never the name: accelerated networking and RoCE are outside.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "checks/shared/pci_bus.hpp"
#include "checks/shared/support.hpp"
#include "lib/base/text.hpp"
#include "lib/profile/limits/ib.hpp"

namespace muster::checks::ib {

inline constexpr unsigned kActive = 4;
inline constexpr unsigned kLinkUp = 5;

enum class LinkLayer { infiniband, ethernet, unknown };

[[nodiscard]] inline LinkLayer link_layer_of(const IbPort& port) {
  if (port.link_layer == "InfiniBand") return LinkLayer::infiniband;
  return port.link_layer == "Ethernet" ? LinkLayer::ethernet : LinkLayer::unknown;
}

// Every port is Ethernet. A device whose ports are not known may be anything.
[[nodiscard]] inline bool is_ethernet(const Hca& hca) {
  return hca.ports && std::ranges::all_of(*hca.ports, [](const IbPort& port) {
           return link_layer_of(port) == LinkLayer::ethernet;
         });
}

// The devices to judge: what is not excluded by name and may be InfiniBand. The name pattern of
// ib.present does not decide: images name HCAs in their own ways.
[[nodiscard]] inline std::vector<const Hca*> hcas_of(const Snapshot& snapshot,
                                                     const Profile& profile) {
  const std::string& exclude = profile.ib->present.exclude;
  std::vector<const Hca*> hcas;
  for (const Hca& hca : snapshot.infiniband->hcas) {
    const bool excluded = !exclude.empty() && matches_glob(exclude, hca.name);
    if (!excluded && !is_ethernet(hca)) hcas.push_back(&hca);
  }
  return hcas;
}

struct PortOf {
  const Hca* hca = nullptr;
  const IbPort* port = nullptr;
};

// The ports whose rate, addresses, keys and errors mean something. What is not ACTIVE is
// ib.state's: everything else about such a port is a consequence.
[[nodiscard]] inline std::vector<PortOf> active_ports(const Snapshot& snapshot,
                                                      const Profile& profile) {
  std::vector<PortOf> ports;
  for (const Hca* hca : hcas_of(snapshot, profile)) {
    if (!hca->ports) continue;
    for (const IbPort& port : *hca->ports) {
      const bool active = port.state && *port.state == kActive;
      if (active && link_layer_of(port) == LinkLayer::infiniband) ports.push_back({hca, &port});
    }
  }
  return ports;
}

// The HCA as libibverbs sees it; null where verbs did not list it.
[[nodiscard]] inline const VerbsDevice* verbs_device(const Snapshot& snapshot, const Hca& hca) {
  const auto& all = snapshot.verbs->devices;
  const auto found = std::ranges::find(all, hca.name, &VerbsDevice::name);
  return found == all.end() ? nullptr : &*found;
}

// What verbs say of a port; null, too, where verbs did not open the device.
[[nodiscard]] inline const VerbsPort* verbs_port(const Snapshot& snapshot, const PortOf& at) {
  const VerbsDevice* device = verbs_device(snapshot, *at.hca);
  if (device == nullptr || !device->ports) return nullptr;
  const auto found = std::ranges::find(*device->ports, at.port->number, &VerbsPort::number);
  return found == device->ports->end() ? nullptr : &*found;
}

// A finding about one port, named by its HCA; the number is said only where it is not the first.
[[nodiscard]] inline Finding about(const PortOf& at, Outcome outcome, std::string message,
                                   Remedy remedy = Remedy::none, Values values = {}) {
  if (at.port->number != 1) message = fmt::format("port {}: {}", at.port->number, message);
  return checks::about(at.hca->name, outcome, std::move(message), remedy, std::move(values));
}

// Whether the probe saw HCAs, or saw that there are none.
[[nodiscard]] inline bool answered(const Snapshot& snapshot) {
  return snapshot.infiniband.ok() || snapshot.infiniband.status == Status::absent;
}

// Why the HCAs of this node cannot be judged, if so.
[[nodiscard]] inline std::optional<Finding> no_hcas(const Snapshot& snapshot,
                                                    const Profile& profile) {
  const Limit<int>& count = profile.ib->present.count;
  const bool none_wanted = count && *count == 0;
  const bool none_found = answered(snapshot) && hcas_of(snapshot, profile).empty();
  if (none_wanted || (!count && none_found)) return not_expected("InfiniBand HCAs");
  if (none_found)
    return skipped("no InfiniBand HCA was found: ib.present and pci.devices judge that");
  return std::nullopt;
}

// What to say where a check that looks at ACTIVE ports only has none.
[[nodiscard]] inline std::optional<Finding> no_active_ports(const Snapshot& snapshot,
                                                            const Profile& profile) {
  if (auto nothing = no_hcas(snapshot, profile)) return nothing;
  if (answered(snapshot) && active_ports(snapshot, profile).empty()) {
    return skipped("no InfiniBand port is ACTIVE: ib.state judges that");
  }
  return std::nullopt;
}

// Null where the address is not known, or not on the bus.
[[nodiscard]] inline const PciDevice* on_bus(const Snapshot& snapshot, const Hca& hca) {
  return hca.address ? device_at(snapshot, *hca.address) : nullptr;
}

// HCAs of one kind are sisters: the same board, named alike, with as many ports, and all of them
// beside GPUs or none: one for storage is no sister of those for messages. Empty for a function
// that a host made for its guests, which has no sisters.
[[nodiscard]] inline std::string kind_of(const Snapshot& snapshot, const PortOf& at) {
  const Hca& hca = *at.hca;
  const PciDevice* device = on_bus(snapshot, hca);
  if (device != nullptr && device->virtual_function) return {};
  std::string stem = hca.name;
  std::erase_if(stem, [](char c) { return c >= '0' && c <= '9'; });
  return fmt::format("{}|{}|{}|{}|{}|{}", hca.type.value_or(""), hca.board.value_or(""), stem,
                     hca.ports ? hca.ports->size() : 0, at.port->number,
                     device != nullptr && pci::is_beside_a_gpu(snapshot, *device));
}

// "fe80:0000:0000:0000", of the subnet.
[[nodiscard]] inline std::string prefix_of(const std::string& gid) {
  constexpr std::size_t kLength = 19;
  return gid.substr(0, kLength);
}

// The kind of a port among those that are ACTIVE: ports of another fabric are no sisters.
[[nodiscard]] inline std::string active_kind_of(const Snapshot& snapshot, const PortOf& at) {
  auto kind = kind_of(snapshot, at);
  if (kind.empty()) return kind;
  return fmt::format("{}|{}", kind, prefix_of(at.port->gid0.value_or("")));
}

}  // namespace muster::checks::ib
