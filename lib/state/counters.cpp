// SPDX-License-Identifier: Apache-2.0
#include "lib/state/counters.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace muster {
namespace {

using Counters = std::map<std::string, std::uint64_t>;

// Traffic always changes and does not show errors: it would only fill the state file.
bool is_traffic(std::string_view counter) {
  return counter.ends_with("_data") || counter.ends_with("_packets") || counter == "port_xmit_wait";
}

void add_port(Counters& counters, const std::string& hca, const IbPort& port) {
  for (const auto* group : {&port.counters, &port.hw_counters}) {
    if (!*group) continue;
    for (const auto& [name, value] : **group) {
      if (!value || is_traffic(name)) continue;
      counters.emplace(fmt::format("ib.{}.{}.{}", hca, port.number, name), *value);
    }
  }
  for (const auto& [name, value] : port.link_errors) {
    counters.emplace(fmt::format("ib.{}.{}.{}", hca, port.number, name), value);
  }
}

void add_device(Counters& counters, const PciDevice& device) {
  if (!device.aer) return;
  counters.emplace(fmt::format("pci.{}.fatal", device.address), device.aer->fatal);
  counters.emplace(fmt::format("pci.{}.non_fatal", device.address), device.aer->non_fatal);
  counters.emplace(fmt::format("pci.{}.correctable", device.address), device.aer->correctable);
}

void add_gpu(Counters& counters, const Gpu& gpu) {
  if (gpu.address.empty()) return;
  const auto add_counter = [&](const std::string& name, const Fact<std::uint64_t>& value) {
    if (value) counters.emplace(fmt::format("gpu.{}.{}", gpu.address, name), *value);
  };
  add_counter("pcie_replays", gpu.link.replays);
  add_counter("hardware_thermal_ns", gpu.clocks.hardware_thermal_ns);
  add_counter("power_brake_ns", gpu.clocks.power_brake_ns);
  if (gpu.clocks.reasons) {
    const bool slowed = (*gpu.clocks.reasons & kHardwareSlowdown) != 0;
    add_counter("slowdown", std::uint64_t{slowed ? 1U : 0U});
  }
  if (!gpu.nvlinks) return;
  for (const auto& link : *gpu.nvlinks) {
    add_counter(fmt::format("nvlink.{}.crc", link.link), link.crc);
    add_counter(fmt::format("nvlink.{}.recoveries", link.link), link.recoveries);
    add_counter(fmt::format("nvlink.{}.replays", link.link), link.replays);
    add_counter(fmt::format("nvlink.{}.failed_recoveries", link.link), link.failed_recoveries);
    add_counter(fmt::format("nvlink.{}.receive_errors", link.link), link.receive_errors);
    add_counter(fmt::format("nvlink.{}.integrity_errors", link.link), link.integrity_errors);
  }
}

}  // namespace

std::map<std::string, std::uint64_t> counters_of(const Snapshot& snapshot) {
  Counters counters;
  for (const auto& hca : snapshot.infiniband->hcas) {
    if (!hca.ports) continue;
    for (const auto& port : *hca.ports) add_port(counters, hca.name, port);
  }
  for (const auto& device : snapshot.pci->devices) add_device(counters, device);
  for (const auto& interface : snapshot.network->interfaces) {
    if (!interface.carrier_down_count) continue;
    counters.emplace(fmt::format("net.{}.carrier_down_count", interface.name),
                     *interface.carrier_down_count);
  }
  for (const auto& gpu : snapshot.nvml->gpus) add_gpu(counters, gpu);
  for (const auto& gpu : snapshot.pci->amd_gpus) {
    if (!gpu.replays) continue;
    counters.emplace(fmt::format("gpu.{}.pcie_replays", gpu.address), *gpu.replays);
  }
  if (!snapshot.kernel->edac) return counters;
  for (const auto& controller : *snapshot.kernel->edac) {
    if (!controller.corrected) continue;
    counters.emplace(fmt::format("edac.{}.corrected", controller.name), *controller.corrected);
  }
  return counters;
}

std::optional<Delta> delta_of(const Earlier& earlier, std::string_view key, CounterChange now,
                              double window_s, double from_s) {
  const auto found = earlier.counters.find(std::string(key));
  if (found == earlier.counters.end() || found->second.empty()) return std::nullopt;
  const auto& changes = found->second;
  if (changes.back().value > now.value) return std::nullopt;

  // The value at the beginning of the window, or the oldest known one.
  const double begin = std::max(now.uptime_s - window_s, from_s);
  const auto* base = &changes.front();
  for (const auto& change : changes) {
    if (change.uptime_s <= begin || change.value < base->value) base = &change;
  }
  // An older value was valid until the window began.
  const double since = std::max(base->uptime_s, begin);
  return Delta{.increments = now.uptime_s > from_s ? now.value - base->value : 0,
               .seconds = std::max(now.uptime_s - since, kHour)};
}

}  // namespace muster
