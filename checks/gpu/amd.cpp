// SPDX-License-Identifier: Apache-2.0
// gpu.amd: AMD's GPUs are cool, their memory takes no damage, and they are set up alike.
#include <cmath>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "checks/catalogue.hpp"
#include "checks/shared/agreement.hpp"
#include "checks/shared/gpus.hpp"
#include "checks/shared/pci_bus.hpp"
#include "checks/shared/rise.hpp"
#include "lib/profile/limits/gpu.hpp"

namespace muster::checks::gpu_amd {
namespace {

using Gpus = std::vector<AmdGpu>;

Finding about(const AmdGpu& gpu, Outcome outcome, const std::string& message, Remedy remedy,
              Values values = {}) {
  const auto serial = gpu.serial ? fmt::format(" (serial {})", *gpu.serial) : std::string();
  return checks::about(gpu.address, outcome,
                       fmt::format("the GPU at {} {}{}", gpu.address, message, serial), remedy,
                       std::move(values));
}

// The hottest sensor, by its distance to what the GPU itself calls critical.
std::optional<Finding> heat_of(const Snapshot& snapshot, const AmdGpu& gpu) {
  constexpr double kMarginC = 5;
  if (!gpu.temperatures) return std::nullopt;
  const AmdSensor* nearest = nullptr;
  for (const auto& sensor : *gpu.temperatures) {
    if (!sensor.critical_c || *sensor.critical_c <= 0) continue;
    const double left = *sensor.critical_c - sensor.now_c;
    if (nearest == nullptr || left < *nearest->critical_c - nearest->now_c) nearest = &sensor;
  }
  if (nearest == nullptr || *nearest->critical_c - nearest->now_c > kMarginC) return std::nullopt;
  const bool over = nearest->now_c >= *nearest->critical_c;
  return about(gpu, over ? Outcome::fail : Outcome::warn,
               fmt::format("is at {:.0f} C ({}), its own limit is {:.0f} C", nearest->now_c,
                           nearest->name, *nearest->critical_c),
               over ? hardware_remedy(snapshot) : Remedy::watch,
               {nearest->now_c, *nearest->critical_c, "C"});
}

std::optional<Finding> pages_of(const Snapshot& snapshot, const AmdGpu& gpu) {
  if (!gpu.bad_pages) return std::nullopt;
  const auto& pages = *gpu.bad_pages;
  if (pages.failed > 0) {
    return about(
        gpu, Outcome::fail,
        fmt::format("has {} that could not be taken out of use", counted(pages.failed, "bad page")),
        hardware_remedy(snapshot));
  }
  if (pages.pending == 0) return std::nullopt;
  return about(
      gpu, Outcome::fail,
      fmt::format("has {} to be taken out of use by a reset", counted(pages.pending, "bad page")),
      gpu::reset_remedy(snapshot));
}

// A link that is idle may be slow now: the fastest that it can be counts.
std::optional<Finding> replays_of(const Snapshot& snapshot, const AmdGpu& gpu) {
  const PciDevice* device = pci::device_at(snapshot, gpu.address);
  if (device == nullptr || !gpu.replays || !snapshot.identity->uptime_s) return std::nullopt;
  const auto& speed = device->link_speed_max_gts;
  const auto& width = device->link_width ? device->link_width : device->link_width_max;
  if (!speed || !width) return std::nullopt;
  const auto key = fmt::format("gpu.{}.pcie_replays", gpu.address);
  const auto rise = rise_of(snapshot, key, *gpu.replays);
  const double most = pci::replays_allowed_per_minute(*speed, *width);
  const double seen = rise ? rise->per_minute() : 0;
  if (seen <= most) return std::nullopt;
  auto finding =
      about(gpu, Outcome::warn,
            fmt::format("sends {:.1f} PCIe packets a minute again, limit {:.1f}", seen, most),
            Remedy::watch, {seen, most, "per minute"});
  finding.seen_by = {{.check = "pci.errors", .device = gpu.address}};
  return finding;
}

// A limit that was set to the same for all GPUs is a site's own.
bool share_a_cap(const Gpus& gpus) {
  return gpus.size() > 1 && std::ranges::all_of(gpus, [&](const AmdGpu& each) {
           return each.power_cap_w && each.power_cap_w == gpus.front().power_cap_w;
         });
}

std::optional<Finding> power_of(const AmdGpu& gpu) {
  constexpr double kRounding = 1;
  if (!gpu.power_cap_w || !gpu.power_cap_default_w) return std::nullopt;
  if (std::abs(*gpu.power_cap_w - *gpu.power_cap_default_w) <= kRounding) return std::nullopt;
  return about(gpu, Outcome::warn,
               fmt::format("has a power limit of {:.0f} W, by default it is {:.0f} W",
                           *gpu.power_cap_w, *gpu.power_cap_default_w),
               Remedy::fix_config, {*gpu.power_cap_w, *gpu.power_cap_default_w, "W"});
}

// What all GPUs should say alike. A GPU that does not tell what others tell says "nothing". Without
// a clear majority nobody is proved to be at fault.
template <class Tell>
void compare(const Gpus& gpus, std::string_view what, Finding like, Findings& findings,
             const Tell& tell) {
  std::vector<Said> said;
  bool any = false;
  for (const auto& gpu : gpus) {
    const Fact<std::string> value = std::invoke(tell, gpu);
    if (value.is_unreadable()) continue;
    any = any || value.known();
    said.push_back({.device = gpu.address, .value = value.value_or("nothing")});
  }
  if (!any) return;
  if (!usual(said, &Said::value)) like.outcome = Outcome::warn;
  append(findings, disagreements(said, {.what = what, .devices = "GPUs"}, like));
}

// Those of one kind: a processor's own graphics are no sister of an accelerator.
std::map<unsigned, Gpus> by_kind(const Snapshot& snapshot) {
  std::map<unsigned, Gpus> kinds;
  for (const auto& gpu : snapshot.pci->amd_gpus) {
    const PciDevice* device = pci::device_at(snapshot, gpu.address);
    kinds[device == nullptr ? 0 : device->device].push_back(gpu);
  }
  return kinds;
}

// gpu.ras judges the memory where the profile says how much it is.
bool has_a_limit_of_memory(const Profile& profile) {
  const auto& present = profile.gpu->present;
  return present.memory && present.vendor && *present.vendor == GpuVendor::amd;
}

void compare_memory(const Gpus& gpus, const Finding& broken, Findings& findings) {
  compare(gpus, "memory", broken, findings, [](const AmdGpu& gpu) {
    const auto& bytes = gpu.memory_bytes;
    return bytes ? Fact<std::string>(in_gib(static_cast<double>(*bytes)))
                 : Fact<std::string>::unreadable(bytes.why());
  });
}

void compare_all(const Snapshot& snapshot, const Profile& profile, const Gpus& gpus,
                 Findings& findings) {
  const Finding set{.outcome = Outcome::warn, .remedy = Remedy::fix_config};
  const Finding broken{.outcome = Outcome::fail, .remedy = hardware_remedy(snapshot)};
  if (!has_a_limit_of_memory(profile)) compare_memory(gpus, broken, findings);
  compare(gpus, "xGMI hive", broken, findings, &AmdGpu::hive);
  compare(gpus, "VBIOS", set, findings, &AmdGpu::vbios);
  compare(gpus, "compute partition", set, findings, &AmdGpu::compute_partition);
  compare(gpus, "memory partition", set, findings, &AmdGpu::memory_partition);
  compare(gpus, "performance level", set, findings, &AmdGpu::performance_level);
}

// What NVML says of NVIDIA's own GPUs, gpu.processes and gpu.memory_used judge.
std::optional<Finding> left_in_memory(const AmdGpu& gpu, const GpuMemoryUsedLimits& limits) {
  if (!gpu.memory_used_bytes || !limits.fail_above) return std::nullopt;
  const auto used = static_cast<double>(*gpu.memory_used_bytes);
  if (used <= limits.fail_above->value) return std::nullopt;
  return about(gpu, Outcome::warn,
               fmt::format("has {} of memory in use with no job on the node", in_gib(used)),
               Remedy::restart_app, {used, limits.fail_above->value, "B"});
}

Findings judge_in(const Snapshot& snapshot, const Profile& profile, const Context& context) {
  const auto& gpus = snapshot.pci->amd_gpus;
  const bool shared_cap = share_a_cap(gpus);
  Findings findings;
  for (const auto& gpu : gpus) {
    auto found = heat_of(snapshot, gpu);
    if (!found) found = pages_of(snapshot, gpu);
    if (!found && !shared_cap) found = power_of(gpu);
    if (!found) found = replays_of(snapshot, gpu);
    if (!found && context.gpus_idle) found = left_in_memory(gpu, profile.gpu->memory_used);
    append(findings, std::move(found));
  }
  for (const auto& [device, sisters] : by_kind(snapshot)) {
    compare_all(snapshot, profile, sisters, findings);
  }
  return or_pass(std::move(findings),
                 fmt::format("{} cool, whole and set up alike", counted(gpus.size(), "AMD GPU")));
}

std::optional<Finding> not_here(const Snapshot& snapshot, const Profile& /*profile*/) {
  if (!snapshot.pci.ok() || !snapshot.pci->amd_gpus.empty()) return std::nullopt;
  return skipped("no GPU here has the amdgpu driver");
}

}  // namespace

constinit const Check check{
    .id = "gpu.amd",
    .title = "AMD's GPUs are cool, whole and set up alike",
    .why =
        "The amdgpu driver tells the temperatures of a GPU with the limits that the GPU itself "
        "has, the pages of memory that errors took out of use, power limits, and how the GPU is "
        "divided. At its limit a GPU slows down; a page that waits for a reset is the next error. "
        "The GPUs of one node are compared: one with another VBIOS, partition or performance level "
        "is slow or unusable for a job that takes them all, one with less memory or in another "
        "hive (the GPUs that xGMI links join) is broken. A PCIe link that sends packets again and "
        "again is about to fail. Where GPUs should be idle, memory in use "
        "warns. What the driver does not tell, as in virtual machines, is not judged.",
    .fix =
        "Heat: look at fans and air flow. Pages: reset the GPU (amd-smi reset --gpureset) or "
        "reboot. Power limit, partition and performance level: amd-smi set, or amd-smi reset for "
        "the defaults. Memory or hive: reboot, and report the GPU's serial number.",
    .needs = Probe::pci | Probe::identity,
    .not_here = not_here,
    .judge_in = judge_in,
};

}  // namespace muster::checks::gpu_amd
