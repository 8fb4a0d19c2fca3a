// SPDX-License-Identifier: Apache-2.0
// gpu.ras: AMD's GPUs have their driver, all of their memory, and no errors that it could not
// correct.
#include <cmath>
#include <string>

#include "checks/catalogue.hpp"
#include "checks/shared/gpus.hpp"
#include "checks/shared/pci_bus.hpp"
#include "lib/profile/limits/gpu.hpp"

namespace muster::checks::gpu_ras {
namespace {

constexpr unsigned kAmd = 0x1002;

bool expected_here(const Profile& profile) {
  const auto& present = profile.gpu->present;
  return present.count.value_or(0) > 0 && present.vendor && *present.vendor == GpuVendor::amd;
}

// Those on the bus that should have the driver and have it not.
Findings without_driver(const Snapshot& snapshot) {
  Findings findings;
  for (const auto& device : snapshot.pci->devices) {
    const bool amd = device.kind == PciKind::gpu && device.vendor == kAmd;
    if (!amd || device.driver == "amdgpu" || pci::silent(device)) continue;
    findings.push_back(
        failed(device.address,
               fmt::format("the GPU at {} has {}, and not amdgpu", device.address,
                           device.driver.empty() ? std::string("no driver")
                                                 : fmt::format("the driver {}", device.driver)),
               Remedy::reboot, {device.driver, "amdgpu"}));
  }
  return findings;
}

// The kernel's log tells of the same errors.
std::optional<Finding> uncorrected(const Snapshot& snapshot, const AmdGpu& gpu) {
  std::uint64_t worst = 0;
  std::string block;
  for (const auto& [name, counts] : *gpu.ras) {
    if (counts.uncorrected <= worst) continue;
    worst = counts.uncorrected;
    block = name;
  }
  if (worst == 0) return std::nullopt;
  return failed(gpu.address,
                fmt::format("the GPU at {} has {} of its block {} since its driver was loaded",
                            gpu.address, counted(worst, "uncorrectable error"), block),
                gpu::reset_remedy(snapshot), {count_value(worst), 0});
}

std::optional<Finding> corrected(const AmdGpu& gpu, const Limit<int>& most) {
  if (!most) return std::nullopt;
  for (const auto& [name, counts] : *gpu.ras) {
    if (counts.corrected <= static_cast<std::uint64_t>(*most)) continue;
    return warned(gpu.address,
                  fmt::format("the GPU at {} has {} of its block {}, more than {}", gpu.address,
                              counted(counts.corrected, "corrected error"), name, *most),
                  Remedy::watch, {count_value(counts.corrected), *most});
  }
  return std::nullopt;
}

std::optional<Finding> wrong_memory(const Snapshot& snapshot, const AmdGpu& gpu,
                                    const GpuPresentLimits& limits) {
  if (!limits.memory || !gpu.memory_bytes) return std::nullopt;
  const auto total = static_cast<double>(*gpu.memory_bytes);
  const double band = limits.memory->value * limits.tolerance.value / 100;
  if (std::abs(total - limits.memory->value) <= band) return std::nullopt;
  return failed(gpu.address,
                fmt::format("the GPU at {} has {} of memory, expected {}", gpu.address,
                            in_gib(total), in_gib(limits.memory->value)),
                hardware_remedy(snapshot), {total, limits.memory->value, "B"});
}

Finding not_counted(const AmdGpu& gpu) {
  return about(gpu.address, gpu.ras.is_absent() ? Outcome::skip : Outcome::unknown,
               fmt::format("the errors of the GPU are not known: {}", gpu.ras.why()));
}

std::optional<Finding> judge_one(const Snapshot& snapshot, const AmdGpu& gpu,
                                 const Profile& profile) {
  const auto& present = profile.gpu->present;
  if (expected_here(profile)) {
    if (auto finding = wrong_memory(snapshot, gpu, present)) return finding;
  }
  if (!gpu.ras) return not_counted(gpu);
  if (auto finding = uncorrected(snapshot, gpu)) return finding;
  return corrected(gpu, profile.gpu->ras.corrected_warn_above);
}

Findings judge(const Snapshot& snapshot, const Profile& profile) {
  Findings findings;
  if (expected_here(profile)) findings = without_driver(snapshot);
  std::size_t well = 0;
  for (const auto& gpu : snapshot.pci->amd_gpus) {
    auto finding = judge_one(snapshot, gpu, profile);
    if (!finding) ++well;
    append(findings, std::move(finding));
  }
  if (well > 0) {
    findings.push_back(
        passed(fmt::format("{} without errors that were not corrected", counted(well, "AMD GPU"))));
  }
  if (findings.empty()) return {skipped("no AMD GPU on the bus: pci.devices says so")};
  return findings;
}

std::optional<Finding> not_here(const Snapshot& snapshot, const Profile& profile) {
  const bool any = snapshot.pci.ok() && !snapshot.pci->amd_gpus.empty();
  if (any || expected_here(profile)) return std::nullopt;
  return skipped("no AMD GPU here");
}

}  // namespace

constinit const Check check{
    .id = "gpu.ras",
    .title = "AMD's GPUs have counted no uncorrectable error",
    .why =
        "The amdgpu driver counts the errors of each block of a GPU (its memory umc, its caches "
        "and processors gfx, its links xgmi_wafl) in sysfs. What was not corrected cost a job its "
        "result, and the memory it happened in is out of use only after a reset. Where the profile "
        "expects GPUs of AMD, each must have that driver and its whole memory. Many corrected "
        "errors warn (gpu.ras.corrected_warn_above). What the kernel's log says of such errors and "
        "of resets is host.kernel_log's.",
    .fix =
        "Drain the node and reset the GPU (amd-smi reset --gpureset) or reboot. If the error comes "
        "back, replace the GPU, or report it to the provider; amd-smi bad-pages shows what is out "
        "of use.",
    .needs = Probe::pci | Probe::identity,
    .not_here = not_here,
    .judge = judge,
};

}  // namespace muster::checks::gpu_ras
