// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "checks/run.hpp"
#include "lib/base/text.hpp"
#include "lib/node/snapshot.hpp"
#include "lib/profile/limits/gpu.hpp"

namespace muster {
namespace {

struct Subject {
  Probe probe;
  std::string_view what;
  std::string_view group;  // of `must_observe`, if any
};

// In the order of the probes.
constexpr std::array kSubjects{
    Subject{Probe::identity, "identity", "host"},
    Subject{Probe::cpu, "processors", "host"},
    Subject{Probe::memory, "memory", "host"},
    Subject{Probe::mounts, "mounts", "host"},
    Subject{Probe::disks, "disks", "host"},
    Subject{Probe::processes, "processes", "host"},
    Subject{Probe::kernel, "kernel", "host"},
    Subject{Probe::kernel_log, "kernel log", "host"},
    Subject{Probe::services, "services", "host"},
    Subject{Probe::network, "network", "host"},
    Subject{Probe::pci, "PCI bus", "pci"},
    Subject{Probe::infiniband, "InfiniBand", "ib"},
    Subject{Probe::verbs, "verbs", ""},
    Subject{Probe::topology, "topology", ""},
    Subject{Probe::environment, "environment", ""},
    Subject{Probe::nvml, "GPUs", "gpu"},
};

static_assert(kSubjects.size() == kProbeNames.size() &&
              std::ranges::is_sorted(kSubjects, {}, &Subject::probe));

// Hardware on the bus that could not be observed otherwise.
enum class Shown { none, of_another_driver, ours };

Shown shown(const std::vector<const PciDevice*>& devices, bool (*ours)(const PciDevice&)) {
  if (devices.empty()) return Shown::none;
  const bool any = std::ranges::any_of(devices, [&](const auto* device) { return ours(*device); });
  return any ? Shown::ours : Shown::of_another_driver;
}

// False for a GPU of another vendor, or one with another driver (vfio-pci, nouveau).
bool is_nvmls(const PciDevice& device) {
  constexpr unsigned kNvidia = 0x10de;
  return device.vendor == kNvidia && (device.driver.empty() || device.driver == "nvidia");
}

// GPUs with the amdgpu driver are observed with the bus.
std::vector<const PciDevice*> gpus_to_ask(const Snapshot& snapshot) {
  auto gpus = devices_of(snapshot, PciKind::gpu);
  std::erase_if(gpus, [&](const PciDevice* gpu) {
    return std::ranges::count(snapshot.pci->amd_gpus, gpu->address, &AmdGpu::address) > 0;
  });
  return gpus;
}

bool is_for_rdma(const PciDevice& device) { return device.driver != "vfio-pci"; }

Shown shown_by_bus(const Snapshot& snapshot, Probe probe) {
  if (probe == Probe::nvml) return shown(gpus_to_ask(snapshot), is_nvmls);
  if (probe == Probe::infiniband) return shown(devices_of(snapshot, PciKind::hca), is_for_rdma);
  return Shown::none;
}

// Empty if the section was observed.
template <class T>
std::optional<std::string> why_not(const Section<T>& section) {
  if (!section.asked()) return "no probe was run for it";
  if (!section.ok()) return section.reason;
  if constexpr (std::is_same_v<T, Nvml>) {
    if (!section->trouble.empty()) return section->trouble;
  }
  return std::nullopt;
}

// A missing NVML is an error only if its path was given.
bool is_named(const Snapshot& snapshot) {
  constexpr int kLibraryNotFound = 12;
  constexpr int kFunctionNotFound = 13;
  const int code = snapshot.nvml->trouble_code;
  return snapshot.nvml.ok() && (code == kLibraryNotFound || code == kFunctionNotFound);
}

// A library given by path is required, unless the profile expects no GPUs.
bool counts_on_nvml(const Snapshot& snapshot, const Profile& profile) {
  return is_named(snapshot) && profile.gpu->present.count.value_or(1) > 0;
}

bool needed(const std::vector<const Check*>& checks, Probe probe) {
  return std::ranges::any_of(checks,
                             [&](const Check* check) { return check->needs.contains(probe); });
}

std::vector<const Check*> counted(const std::vector<const Check*>& selected,
                                  const Context& context) {
  std::vector<const Check*> checks = selected;
  std::erase_if(checks,
                [&](const Check* check) { return !matches_any(context.count_unknown, check->id); });
  return checks;
}

}  // namespace

std::vector<NotObserved> not_observed(const Snapshot& snapshot, const Profile& profile,
                                      const Context& context,
                                      const std::vector<const Check*>& selected) {
  std::vector<NotObserved> gaps;
  const auto counting = counted(selected, context);
  for_each_section(snapshot, [&](Probe probe, const auto& section) {
    const auto why = why_not(section);
    if (!why || !needed(selected, probe)) return;
    const auto& subject = kSubjects.at(static_cast<std::size_t>(probe));
    const auto on_bus = shown_by_bus(snapshot, probe);
    const bool gpus = probe == Probe::nvml;
    const bool expected = std::ranges::count(profile.must_observe, subject.group) > 0 ||
                          on_bus == Shown::ours || (gpus && counts_on_nvml(snapshot, profile));
    const bool nothing_to_see = section.ok() || section.status == Status::absent;
    const bool is_named_or_shown =
        expected || on_bus != Shown::none || (gpus && is_named(snapshot));
    if (nothing_to_see && !is_named_or_shown) return;
    gaps.push_back({.what = std::string(subject.what),
                    .reason = printable(*why),
                    .required = expected && needed(counting, probe)});
  });
  return gaps;
}

}  // namespace muster
