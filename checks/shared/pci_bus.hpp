// SPDX-License-Identifier: Apache-2.0
// Shared by the checks of the PCI bus: the devices to judge, and the findings if there are none.
#pragma once

#include <array>

#include "checks/shared/support.hpp"

namespace muster::checks::pci {

[[nodiscard]] constexpr std::string_view word_for(PciKind kind) {
  // In the order of the enumeration.
  constexpr std::array<std::string_view, kPciKindWords.size()> kWords{
      "GPU", "NVSwitch", "HCA", "Ethernet controller", "NVMe controller", "bridge"};
  return kWords.at(static_cast<std::size_t>(kind));
}

// "8 HCAs", "1 NVSwitch", "2 NVSwitches".
[[nodiscard]] inline std::string counted_kind(std::uint64_t count, PciKind kind) {
  const bool es = kind == PciKind::nvswitch && count != 1;
  return es ? fmt::format("{} NVSwitches", count) : counted(count, word_for(kind));
}

// Only pci.devices judges a device that does not respond: its other facts are meaningless.
[[nodiscard]] inline bool is_silent(const PciDevice& device) {
  return device.responding && !*device.responding;
}

using muster::device_at;
using muster::devices_of;

// GPUs and HCAs that respond, GPUs first.
[[nodiscard]] inline std::vector<const PciDevice*> endpoints(const Snapshot& snapshot) {
  std::vector<const PciDevice*> found;
  for (const auto kind : {PciKind::gpu, PciKind::hca}) {
    for (const auto* device : devices_of(snapshot, kind)) {
      if (!is_silent(*device)) found.push_back(device);
    }
  }
  return found;
}

// True if the device reaches a GPU without crossing the root of the bus; false if bridges are
// hidden, as in a guest.
[[nodiscard]] inline bool is_near_gpu(const Snapshot& snapshot, const PciDevice& device) {
  if (device.upstream.empty()) return false;
  return std::ranges::any_of(snapshot.pci->devices, [&](const PciDevice& other) {
    return other.kind == PciKind::gpu && !other.upstream.empty() &&
           other.upstream.front() == device.upstream.front();
  });
}

// The finding if the bus was not observed: unknown if the profile expects devices on it.
[[nodiscard]] inline std::optional<Finding> without_bus(const Snapshot& snapshot,
                                                        const Profile& profile) {
  if (snapshot.pci.ok()) return std::nullopt;
  const bool expected = expects_gpus(profile) || expects_hcas(profile) ||
                        profile.pci->devices.nvswitches.value_or(0) > 0;
  return about(kNode, expected ? Outcome::unknown : Outcome::skip,
               fmt::format("the PCI bus is unknown: {}", snapshot.pci.reason));
}

// Like without_bus(), but also returns a skip if there is no GPU or HCA to judge.
[[nodiscard]] inline std::optional<Finding> nothing_to_judge(const Snapshot& snapshot,
                                                             const Profile& profile) {
  if (auto finding = without_bus(snapshot, profile)) return finding;
  if (!endpoints(snapshot).empty()) return std::nullopt;
  return skipped("no GPU or HCA responds on the PCI bus: see pci.devices");
}

// The speed of each generation from 1, in GT/s per lane.
inline constexpr std::array kSpeeds{2.5, 5.0, 8.0, 16.0, 32.0, 64.0};

// Empty for an unknown generation.
[[nodiscard]] inline std::optional<double> speed_of_generation(unsigned generation) {
  if (generation == 0 || generation > kSpeeds.size()) return std::nullopt;
  return kSpeeds.at(generation - 1);
}

// PCI Express allows one wrong bit in 10^12; a packet with a wrong bit is resent.
[[nodiscard]] inline double replays_allowed_per_minute(double speed_gts, unsigned width) {
  constexpr double kBitErrorRate = 1e-12;
  return kBitErrorRate * speed_gts * kGiga * kMinute * width;
}

// The counter of PCIe replays of the GPU at an address.
[[nodiscard]] inline std::string replay_key(std::string_view address) {
  return fmt::format("gpu.{}.pcie_replays", address);
}

// Adds one finding for all devices with the same fault, which lists the first of them. Adds none
// for an empty list.
inline void add_for_all(Findings& findings, Outcome outcome,
                        const std::vector<const PciDevice*>& devices, std::string_view what) {
  constexpr std::size_t kMaxNames = 3;
  if (devices.empty()) return;
  if (devices.size() == 1) {
    findings.push_back(about(devices.front()->address, outcome, std::string(what)));
    return;
  }
  std::vector<std::string_view> names;
  names.reserve(kMaxNames);
  for (const auto* device : devices) {
    if (names.size() < kMaxNames) names.push_back(device->address);
  }
  findings.push_back(
      about(kNode, outcome,
            fmt::format("{} ({}: {}{})", what, counted(devices.size(), "device"),
                        fmt::join(names, ", "), devices.size() > kMaxNames ? " …" : "")));
}

}  // namespace muster::checks::pci
