// SPDX-License-Identifier: Apache-2.0
// AMD GPUs.
#include <array>
#include <cmath>
#include <functional>
#include <map>

#include "checks/catalogue.hpp"
#include "checks/shared/gpus.hpp"
#include "checks/shared/pci_bus.hpp"
#include "checks/shared/peers.hpp"
#include "checks/shared/rise.hpp"

namespace muster::checks {
namespace {

// gpu.amd: AMD GPUs are cool, have no bad memory pages pending, and have the same settings.

using Gpus = std::vector<AmdGpu>;

Finding about_amd(const AmdGpu& gpu, Outcome outcome, const std::string& message, Remedy remedy,
                  Values values = {}) {
  const auto serial = gpu.serial ? fmt::format(" (serial {})", *gpu.serial) : std::string();
  return checks::about(gpu.address, outcome,
                       fmt::format("the GPU at {} {}{}", gpu.address, message, serial), remedy,
                       std::move(values));
}

// The sensor closest to its own critical temperature.
std::optional<Finding> heat_of(const Snapshot& snapshot, const AmdGpu& gpu) {
  constexpr double kMarginC = 5;
  if (!gpu.temperatures) return std::nullopt;
  const auto left = [](const AmdSensor& sensor) { return *sensor.critical_c - sensor.now_c; };
  const AmdSensor* nearest = nullptr;
  for (const auto& sensor : *gpu.temperatures) {
    if (sensor.critical_c.value_or(0) <= 0) continue;
    if (nearest == nullptr || left(sensor) < left(*nearest)) nearest = &sensor;
  }
  if (nearest == nullptr || left(*nearest) > kMarginC) return std::nullopt;
  const bool over = left(*nearest) <= 0;
  return about_amd(gpu, over ? Outcome::fail : Outcome::warn,
                   fmt::format("is at {:.0f} C ({}), its own limit is {:.0f} C", nearest->now_c,
                               nearest->name, *nearest->critical_c),
                   over ? hardware_remedy(snapshot) : Remedy::watch,
                   {nearest->now_c, *nearest->critical_c, "C"});
}

std::optional<Finding> pages_of(const Snapshot& snapshot, const AmdGpu& gpu) {
  const AmdBadPages pages = gpu.bad_pages.value_or({});
  const bool failed = pages.failed > 0;
  if (!failed && pages.pending == 0) return std::nullopt;
  return about_amd(
      gpu, Outcome::fail,
      fmt::format("has {} that {}", counted(failed ? pages.failed : pages.pending, "bad page"),
                  failed ? "could not be retired" : "a reset will retire"),
      failed ? hardware_remedy(snapshot) : gpu::reset_remedy(snapshot));
}

// An idle link may be slow now, so the limit applies to its maximum speed.
std::optional<Finding> replays_of(const Snapshot& snapshot, const AmdGpu& gpu) {
  const PciDevice* device = pci::device_at(snapshot, gpu.address);
  if (device == nullptr || !gpu.replays || !snapshot.identity->uptime_s) return std::nullopt;
  const auto& speed = device->link_speed_max_gts;
  const auto& width = device->link_width ? device->link_width : device->link_width_max;
  if (!speed || !width) return std::nullopt;
  if (is_saturated(*gpu.replays)) {
    return about_amd(
        gpu, Outcome::warn,
        fmt::format("has a counter of PCIe replays that is saturated at {}", *gpu.replays),
        Remedy::watch, {count_value(*gpu.replays)});
  }
  const auto rise = rise_of(snapshot, pci::replay_key(gpu.address), *gpu.replays);
  const double most = pci::replays_allowed_per_minute(*speed, *width);
  if (!rise || rise->per_minute() <= most) return std::nullopt;
  auto finding = about_amd(
      gpu, Outcome::warn,
      fmt::format("resends {:.1f} PCIe packets per minute, limit {:.1f}", rise->per_minute(), most),
      Remedy::watch, {rise->per_minute(), most, "per minute"});
  finding.seen_by = {{.check = "pci.errors", .device = gpu.address}};
  return finding;
}

// A power limit that all GPUs share is the site's choice.
bool share_a_cap(const Gpus& gpus) {
  return gpus.size() > 1 && std::ranges::all_of(gpus, [&](const AmdGpu& each) {
           return each.power_cap_w && each.power_cap_w == gpus.front().power_cap_w;
         });
}

std::optional<Finding> power_of(const AmdGpu& gpu) {
  constexpr double kRounding = 1;
  if (!gpu.power_cap_w || !gpu.power_cap_default_w) return std::nullopt;
  if (std::abs(*gpu.power_cap_w - *gpu.power_cap_default_w) <= kRounding) return std::nullopt;
  return about_amd(gpu, Outcome::warn,
                   fmt::format("has a power limit of {:.0f} W, expected the default of {:.0f} W",
                               *gpu.power_cap_w, *gpu.power_cap_default_w),
                   Remedy::fix_config, {*gpu.power_cap_w, *gpu.power_cap_default_w, "W"});
}

// A GPU with a fact that could not be read is not known to be healthy.
std::optional<Finding> unreadable_of(const AmdGpu& gpu) {
  // gpu.ras judges the first, no check the others.
  constexpr std::array<std::string_view, 4> kNotJudged{"ras", "serial", "utilisation", "power_w"};
  std::optional<Finding> found;
  for_each_field<AmdGpu>([&](const auto& field) {
    const auto& fact = gpu.*field.member;
    if constexpr (requires { fact.is_unreadable(); }) {
      if (found || !fact.is_unreadable() || std::ranges::count(kNotJudged, field.name) > 0) return;
      found = about_amd(gpu, Outcome::unknown,
                        fmt::format("has an unknown {}: {}", field.name, fact.why()), Remedy::none);
    }
  });
  return found;
}

// Compares a value that all GPUs should share. A GPU that does not report it has the value
// "not reported". Without a clear majority, differences only warn.
template <class ValueOf>
void compare(const Gpus& gpus, std::string_view what, Finding like, Findings& findings,
             const ValueOf& value_of) {
  std::vector<DeviceValue> said;
  bool any = false;
  for (const auto& gpu : gpus) {
    const Fact<std::string> value = std::invoke(value_of, gpu);
    if (value.is_unreadable()) continue;
    any = any || value.known();
    said.push_back({.device = gpu.address, .value = value.value_or("not reported")});
  }
  if (!any) return;
  if (!usual(said, &DeviceValue::value)) like.outcome = Outcome::warn;
  append(findings, disagreements(said, {.what = what, .devices = "GPUs"}, like));
}

void compare_all(const Snapshot& snapshot, const Profile& profile, const Gpus& gpus,
                 Findings& findings) {
  const Finding set{.outcome = Outcome::warn, .remedy = Remedy::fix_config};
  const Finding broken{.outcome = Outcome::fail, .remedy = hardware_remedy(snapshot)};
  const auto& present = profile.gpu->present;
  // gpu.ras judges the memory if the profile sets its size.
  if (!present.memory || present.vendor != GpuVendor::amd) {
    compare(gpus, "memory", broken, findings, [](const AmdGpu& gpu) {
      const auto& bytes = gpu.memory_bytes;
      return bytes ? Fact<std::string>(in_gib(static_cast<double>(*bytes)))
                   : Fact<std::string>::unreadable(bytes.why());
    });
  }
  compare(gpus, "xGMI hive", broken, findings, &AmdGpu::hive);
  compare(gpus, "VBIOS", set, findings, &AmdGpu::vbios);
  compare(gpus, "compute partition", set, findings, &AmdGpu::compute_partition);
  compare(gpus, "memory partition", set, findings, &AmdGpu::memory_partition);
  compare(gpus, "performance level", set, findings, &AmdGpu::performance_level);
}

// The counterpart of gpu.memory_used for AMD GPUs.
std::optional<Finding> left_in_memory(const AmdGpu& gpu, const Limit<Bytes>& most) {
  if (!gpu.memory_used_bytes || !most) return std::nullopt;
  const auto used = static_cast<double>(*gpu.memory_used_bytes);
  if (used <= most->value) return std::nullopt;
  return about_amd(gpu, Outcome::warn,
                   fmt::format("has {} of memory in use without a job on the node", in_gib(used)),
                   Remedy::restart_app, {used, most->value, "B"});
}

Findings judge_amd(const Snapshot& snapshot, const Profile& profile, const Context& context) {
  const auto& gpus = snapshot.pci->amd_gpus;
  const bool shared_cap = share_a_cap(gpus);
  Findings findings;
  // By device id, because integrated graphics must not be compared with accelerators.
  std::map<unsigned, Gpus> kinds;
  for (const auto& gpu : gpus) {
    auto found = heat_of(snapshot, gpu);
    if (!found) found = pages_of(snapshot, gpu);
    if (!found && !shared_cap) found = power_of(gpu);
    if (!found) found = replays_of(snapshot, gpu);
    if (!found && context.gpus_idle) {
      found = left_in_memory(gpu, profile.gpu->memory_used.fail_above);
    }
    if (!found || found->outcome == Outcome::warn) {
      if (auto unreadable = unreadable_of(gpu)) found = std::move(unreadable);
    }
    append(findings, std::move(found));
    const PciDevice* device = pci::device_at(snapshot, gpu.address);
    kinds[device == nullptr ? 0 : device->device].push_back(gpu);
  }
  for (const auto& [device, peers] : kinds) compare_all(snapshot, profile, peers, findings);
  return or_pass(std::move(findings),
                 fmt::format("{} cool, without bad memory and configured alike",
                             counted(gpus.size(), "AMD GPU")));
}

std::optional<Finding> amd_not_applicable(const Snapshot& snapshot, const Profile& /*profile*/) {
  return unless(!snapshot.pci.ok() || !snapshot.pci->amd_gpus.empty(),
                skipped("no GPU with the amdgpu driver"));
}

// gpu.ras: AMD GPUs have their driver, all of their memory, and no uncorrectable errors.

bool expected_here(const Profile& profile) {
  const auto& present = profile.gpu->present;
  return present.count.value_or(0) > 0 && present.vendor == GpuVendor::amd;
}

// GPUs on the bus that should have the driver but do not.
Findings gpus_without_driver(const Snapshot& snapshot) {
  constexpr unsigned kAmd = 0x1002;
  Findings findings;
  for (const auto& device : snapshot.pci->devices) {
    const bool amd = device.kind == PciKind::gpu && device.vendor == kAmd;
    if (!amd || device.driver == "amdgpu" || pci::is_silent(device)) continue;
    findings.push_back(
        failed(device.address,
               fmt::format("the GPU at {} has {}, expected amdgpu", device.address,
                           device.driver.empty() ? std::string("no driver")
                                                 : fmt::format("the driver {}", device.driver)),
               Remedy::reboot, {device.driver, "amdgpu"}));
  }
  return findings;
}

// The block with the most uncorrectable errors, or else one with many corrected errors.
std::optional<Finding> judge_errors(const Snapshot& snapshot, const AmdGpu& gpu,
                                    const Limit<int>& most) {
  const auto worst = std::ranges::max_element(
      *gpu.ras, {}, [](const auto& block) { return block.second.uncorrected; });
  if (worst != gpu.ras->end() && worst->second.uncorrected > 0) {
    const auto count = worst->second.uncorrected;
    return failed(gpu.address,
                  fmt::format("the GPU at {} has {} in block {} since its driver was loaded",
                              gpu.address, counted(count, "uncorrectable error"), worst->first),
                  gpu::reset_remedy(snapshot), {count_value(count), 0});
  }
  for (const auto& [name, counts] : *gpu.ras) {
    if (!most || counts.corrected <= static_cast<std::uint64_t>(*most)) continue;
    return warned(gpu.address,
                  fmt::format("the GPU at {} has {} in block {}, expected at most {}", gpu.address,
                              counted(counts.corrected, "corrected error"), name, *most),
                  Remedy::watch, {count_value(counts.corrected), *most});
  }
  return std::nullopt;
}

std::optional<Finding> wrong_memory(const Snapshot& snapshot, const AmdGpu& gpu,
                                    const Profile& profile) {
  if (!gpu.memory_bytes || gpu::has_expected_memory(profile, *gpu.memory_bytes)) {
    return std::nullopt;
  }
  const double expected = profile.gpu->present.memory->value;
  const auto total = static_cast<double>(*gpu.memory_bytes);
  return failed(gpu.address,
                fmt::format("the GPU at {} has {} of memory, expected {}", gpu.address,
                            in_gib(total), in_gib(expected)),
                hardware_remedy(snapshot), {total, expected, "B"});
}

std::optional<Finding> judge_ras_of(const Snapshot& snapshot, const AmdGpu& gpu,
                                    const Profile& profile) {
  if (expected_here(profile)) {
    if (auto finding = wrong_memory(snapshot, gpu, profile)) return finding;
    if (gpu.memory_bytes.is_unreadable()) {
      return not_known(gpu.address, "the memory of the GPU", gpu.memory_bytes);
    }
  }
  if (gpu.ras) return judge_errors(snapshot, gpu, profile.gpu->ras.corrected_warn_above);
  return about(gpu.address, gpu.ras.is_absent() ? Outcome::skip : Outcome::unknown,
               fmt::format("the error counts of the GPU are unknown: {}", gpu.ras.why()));
}

Findings judge_ras(const Snapshot& snapshot, const Profile& profile) {
  Findings findings;
  if (expected_here(profile)) findings = gpus_without_driver(snapshot);
  std::size_t healthy = 0;
  for (const auto& gpu : snapshot.pci->amd_gpus) {
    auto finding = judge_ras_of(snapshot, gpu, profile);
    if (!finding) ++healthy;
    append(findings, std::move(finding));
  }
  if (healthy > 0) {
    findings.push_back(
        passed(fmt::format("{} without uncorrectable errors", counted(healthy, "AMD GPU"))));
  }
  if (findings.empty()) return {skipped("no AMD GPU on the bus: see pci.devices")};
  return findings;
}

std::optional<Finding> ras_not_applicable(const Snapshot& snapshot, const Profile& profile) {
  const bool any = snapshot.pci.ok() && !snapshot.pci->amd_gpus.empty();
  return unless(any || expected_here(profile), skipped("no AMD GPU here"));
}

}  // namespace

constinit const Check gpu_amd::check{
    .id = "gpu.amd",
    .title = "AMD GPUs are cool, without bad memory and configured alike",
    .why =
        "The amdgpu driver reports temperatures with the GPU's own limits, retired memory pages, "
        "power limits and partitions. At its limit a GPU slows down; a page that waits for a reset "
        "causes the next error. The GPUs of one node are compared: one with another VBIOS, "
        "partition or performance level is slow or unusable for a job that takes them all; one "
        "with less memory or in another hive (the GPUs joined by xGMI links) is broken. A PCIe "
        "link that keeps resending packets is about to fail. On idle nodes, memory in use warns. "
        "Facts that the driver does not report, as in virtual machines, are not judged; one that "
        "could not be read makes the GPU unknown.",
    .fix =
        "Heat: look at fans and air flow. Pages: reset the GPU (amd-smi reset --gpureset) or "
        "reboot. Power limit, partition and performance level: amd-smi set, or amd-smi reset for "
        "the defaults. Memory or hive: reboot, and report the GPU's serial number.",
    .needs = Probe::pci | Probe::identity,
    .not_applicable = amd_not_applicable,
    .judge_in = judge_amd,
};

constinit const Check gpu_ras::check{
    .id = "gpu.ras",
    .title = "AMD GPUs counted no uncorrectable error",
    .why =
        "The amdgpu driver counts the errors of each block of a GPU (its memory umc, its caches "
        "and processors gfx, its links xgmi_wafl) in sysfs. An uncorrected error cost a job its "
        "result, and the affected memory is out of use only after a reset. If the profile expects "
        "AMD GPUs, each must have that driver and all of its memory. Many corrected errors warn "
        "(gpu.ras.corrected_warn_above). host.kernel_log reports such errors and resets in the "
        "kernel log.",
    .fix =
        "Drain the node and reset the GPU (amd-smi reset --gpureset) or reboot. If the error comes "
        "back, replace the GPU, or report it to the provider; amd-smi bad-pages shows the retired "
        "pages.",
    .needs = Probe::pci | Probe::identity,
    .not_applicable = ras_not_applicable,
    .judge = judge_ras,
};

}  // namespace muster::checks
