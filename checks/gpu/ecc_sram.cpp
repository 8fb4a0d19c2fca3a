// SPDX-License-Identifier: Apache-2.0
// gpu.ecc_sram: few uncorrected SRAM errors over the life of the GPU, and not the pattern that
// calls for its replacement.

#include "checks/catalogue.hpp"
#include "checks/shared/gpus.hpp"

namespace muster::checks::gpu_ecc_sram {
namespace {

// Older drivers tell of the errors only, by a counter.
Fact<GpuSram> sram_of(const Gpu& gpu) {
  const auto& errors = gpu.ecc_aggregate.sram_uncorrected;
  if (gpu.sram) return gpu.sram;
  if (errors) return GpuSram{.unique_uncorrected = *errors};
  if (errors.is_unreadable()) return Fact<GpuSram>::unreadable(errors.why());
  return gpu.sram;
}

std::optional<Finding> judge_one(const Snapshot& snapshot, const Gpu& gpu) {
  const auto sram = sram_of(gpu);
  if (!sram) return gpu::not_told_beside(snapshot, gpu, "the state of the SRAMs", sram_of);
  const bool flagged = sram->threshold_exceeded;
  const auto errors = sram->unique_uncorrected;
  if (!flagged && errors == 0) return std::nullopt;
  Finding finding = gpu::about(
      gpu, flagged ? Outcome::fail : Outcome::warn,
      fmt::format("{} in the SRAMs over its life{}", counted(errors, "uncorrected error"),
                  flagged ? "; the driver's threshold is exceeded" : ""),
      flagged ? hardware_remedy(snapshot) : Remedy::watch, {count_value(errors), 0, "errors"});
  // Errors since the driver was loaded fail there, and are among those counted here.
  if (!flagged && gpu.ecc_volatile.sram_uncorrected.value_or(0) > 0) {
    finding.seen_by = {{.check = "gpu.ecc_uncorrectable", .device = finding.device}};
  }
  return finding;
}

Findings judge(const Snapshot& snapshot, const Profile& /*profile*/) {
  return gpu::each(
      snapshot, [&](const Gpu& gpu) { return judge_one(snapshot, gpu); },
      "without uncorrected SRAM errors");
}

}  // namespace

constinit const Check check{
    .id = "gpu.ecc_sram",
    .title = "Few uncorrected SRAM errors over the life of the GPU",
    .why =
        "Counts the unique uncorrected errors of the caches and registers, which cannot "
        "be remapped. The driver raises a flag when one bank has too many of them; NVIDIA "
        "replaces such a GPU. Without the flag errors of the past are worth watching; those since "
        "the driver was loaded fail gpu.ecc_uncorrectable.",
    .fix =
        "Run the field diagnostic and replace the GPU, or report it to the provider of "
        "the virtual machine with its serial number.",
    .code = "NHC2019",
    .needs = Probe::nvml | Probe::identity,
    .not_here = gpu::none_to_judge,
    .judge = judge,
};

}  // namespace muster::checks::gpu_ecc_sram
