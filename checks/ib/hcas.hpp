// SPDX-License-Identifier: Apache-2.0
// Shared by the checks ib.*: the HCAs and ports to judge. The link layer decides, never the name:
// accelerated networking and RoCE are left out.
#pragma once

#include <array>

#include "checks/shared/pci_bus.hpp"
#include "checks/shared/rise.hpp"

namespace muster::checks::ib {

inline constexpr unsigned kActive = 4;
inline constexpr unsigned kLinkUp = 5;

[[nodiscard]] inline bool is_infiniband(const IbPort& port) {
  return port.link_layer == "InfiniBand";
}

// Ethernet, or a network that the kernel has no word for, such as AWS's EFA.
[[nodiscard]] inline bool is_other_network(const IbPort& port) {
  return port.link_layer == "Ethernet" || port.link_layer == "Unknown";
}

// False for a device with unknown ports.
[[nodiscard]] inline bool is_other_network(const Hca& hca) {
  return hca.ports &&
         std::ranges::all_of(*hca.ports, [](const IbPort& port) { return is_other_network(port); });
}

// The devices that may be InfiniBand and are not excluded by name. The name pattern of ib.present
// does not matter, because images name HCAs differently.
[[nodiscard]] inline std::vector<const Hca*> hcas_of(const Snapshot& snapshot,
                                                     const Profile& profile) {
  const std::string& exclude = profile.ib->present.exclude;
  std::vector<const Hca*> hcas;
  for (const Hca& hca : snapshot.infiniband->hcas) {
    const bool excluded = !exclude.empty() && matches_glob(exclude, hca.name);
    if (!excluded && !is_other_network(hca)) hcas.push_back(&hca);
  }
  return hcas;
}

struct PortOf {
  const Hca* hca = nullptr;
  const IbPort* port = nullptr;
};

// The ports whose rate, addresses, keys and errors are meaningful. Only ib.state judges ports that
// are not ACTIVE.
[[nodiscard]] inline std::vector<PortOf> active_ports(const Snapshot& snapshot,
                                                      const Profile& profile) {
  std::vector<PortOf> ports;
  for (const Hca* hca : hcas_of(snapshot, profile)) {
    if (!hca->ports) continue;
    for (const IbPort& port : *hca->ports) {
      const bool active = port.state && *port.state == kActive;
      if (active && is_infiniband(port)) ports.push_back({hca, &port});
    }
  }
  return ports;
}

// The HCA in libibverbs' list; null if missing.
[[nodiscard]] inline const VerbsDevice* verbs_device(const Snapshot& snapshot, const Hca& hca) {
  const auto& all = snapshot.verbs->devices;
  const auto found = std::ranges::find(all, hca.name, &VerbsDevice::name);
  return found == all.end() ? nullptr : &*found;
}

// Null if verbs do not list the port or did not open the device.
[[nodiscard]] inline const VerbsPort* verbs_port(const Snapshot& snapshot, const PortOf& at) {
  const VerbsDevice* device = verbs_device(snapshot, *at.hca);
  if (device == nullptr || !device->ports) return nullptr;
  const auto found = std::ranges::find(*device->ports, at.port->number, &VerbsPort::number);
  return found == device->ports->end() ? nullptr : &*found;
}

// A finding about one port, named by its HCA. Port numbers above 1 are in the message.
[[nodiscard]] inline Finding about(const PortOf& at, Outcome outcome, std::string message,
                                   Remedy remedy = Remedy::none, Values values = {}) {
  if (at.port->number != 1) message = fmt::format("port {}: {}", at.port->number, message);
  return checks::about(at.hca->name, outcome, std::move(message), remedy, std::move(values));
}

// Null if the port lacks the counter, or the counters cannot be listed.
[[nodiscard]] inline const Fact<std::uint64_t>* counter_in(const IbCounters& counters,
                                                           std::string_view name) {
  if (!counters) return nullptr;
  const auto found = counters->find(std::string(name));
  return found == counters->end() ? nullptr : &found->second;
}

// The maxima of the InfiniBand port counters.
struct CounterWidth {
  std::string_view counter;
  std::uint64_t most = 0;
};

inline constexpr std::array<CounterWidth, 12> kWidths{{{"VL15_dropped", 0xffff},
                                                       {"excessive_buffer_overrun_errors", 0xf},
                                                       {"link_downed", 0xff},
                                                       {"link_error_recovery", 0xff},
                                                       {"local_link_integrity_errors", 0xf},
                                                       {"port_rcv_constraint_errors", 0xff},
                                                       {"port_rcv_errors", 0xffff},
                                                       {"port_rcv_remote_physical_errors", 0xffff},
                                                       {"port_rcv_switch_relay_errors", 0xffff},
                                                       {"port_xmit_constraint_errors", 0xff},
                                                       {"port_xmit_discards", 0xffff},
                                                       {"symbol_error", 0xffff}}};

[[nodiscard]] inline bool is_saturated(std::string_view counter, std::uint64_t value) {
  const auto* const width = std::ranges::find(kWidths, counter, &CounterWidth::counter);
  return checks::is_saturated(value) || (width != kWidths.end() && value >= width->most);
}

[[nodiscard]] inline Finding saturated(const PortOf& at, std::string_view counter,
                                       std::uint64_t value) {
  return about(at, Outcome::warn,
               fmt::format("{} is saturated at {}: clear it with perfquery -R", counter, value),
               Remedy::watch, {count_value(value)});
}

// True if the probe saw HCAs, or saw that there are none.
[[nodiscard]] inline bool is_observed(const Snapshot& snapshot) {
  return snapshot.infiniband.ok() || snapshot.infiniband.status == Status::absent;
}

// Why the HCAs of this node cannot be judged, if so.
[[nodiscard]] inline std::optional<Finding> no_hcas(const Snapshot& snapshot,
                                                    const Profile& profile) {
  const Limit<int>& count = profile.ib->present.count;
  const bool none_wanted = count && *count == 0;
  const bool none_found = is_observed(snapshot) && hcas_of(snapshot, profile).empty();
  if (none_wanted || (!count && none_found)) return not_expected("InfiniBand HCAs");
  if (none_found) return skipped("no InfiniBand HCA found: see ib.present and pci.devices");
  return std::nullopt;
}

// Why there are no ACTIVE ports to judge, if so.
[[nodiscard]] inline std::optional<Finding> no_active_ports(const Snapshot& snapshot,
                                                            const Profile& profile) {
  if (auto nothing = no_hcas(snapshot, profile)) return nothing;
  if (is_observed(snapshot) && active_ports(snapshot, profile).empty()) {
    return skipped("no InfiniBand port is ACTIVE: see ib.state");
  }
  return std::nullopt;
}

// Fills in what the checks of HCAs share.
[[nodiscard]] constexpr Check check_of_hcas(Check check) {
  check.needs = check.needs | Probe::infiniband | Probe::identity;
  check.when_absent = WhenAbsent::judge;
  if (check.not_applicable == nullptr) check.not_applicable = no_active_ports;
  return check;
}

// Null if the address is unknown or not on the bus.
[[nodiscard]] inline const PciDevice* on_bus(const Snapshot& snapshot, const Hca& hca) {
  return hca.address ? device_at(snapshot, *hca.address) : nullptr;
}

// HCAs of one kind are compared: same board, similar names, same number of ports, and next to GPUs
// or not, which separates storage from compute HCAs. Empty for a virtual function of a host, which
// is not compared.
[[nodiscard]] inline std::string kind_of(const Snapshot& snapshot, const PortOf& at) {
  const Hca& hca = *at.hca;
  const PciDevice* device = on_bus(snapshot, hca);
  if (device != nullptr && device->virtual_function) return {};
  std::string stem = hca.name;
  std::erase_if(stem, [](char c) { return c >= '0' && c <= '9'; });
  return fmt::format("{}|{}|{}|{}|{}|{}", hca.type.value_or(""), hca.board.value_or(""), stem,
                     hca.ports ? hca.ports->size() : 0, at.port->number,
                     device != nullptr && pci::is_near_gpu(snapshot, *device));
}

// The subnet prefix: "fe80:0000:0000:0000".
[[nodiscard]] inline std::string prefix_of(const std::string& gid) {
  constexpr std::size_t kLength = 19;
  return gid.substr(0, kLength);
}

// The kind of an ACTIVE port, which includes its fabric.
[[nodiscard]] inline std::string active_kind_of(const Snapshot& snapshot, const PortOf& at) {
  auto kind = kind_of(snapshot, at);
  if (kind.empty()) return kind;
  return fmt::format("{}|{}", kind, prefix_of(at.port->gid0.value_or("")));
}

}  // namespace muster::checks::ib
