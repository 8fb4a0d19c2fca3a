// SPDX-License-Identifier: Apache-2.0
// gpu.ecc_uncorrectable: no uncorrected memory error since the driver was loaded.
#include "checks/catalogue.hpp"
#include "checks/gpu/gpus.hpp"

namespace muster::checks {
namespace {

std::optional<Finding> judge_one(const Snapshot& snapshot, const Gpu& gpu) {
  const auto& ecc = gpu.ecc_volatile;
  if (!ecc.dram_uncorrected && !ecc.sram_uncorrected) {
    return gpu::not_told(gpu, "the count of uncorrected errors", ecc.dram_uncorrected);
  }
  for (const auto* fact : {&ecc.dram_uncorrected, &ecc.sram_uncorrected}) {
    if (fact->is_unreadable()) {
      return gpu::not_told(gpu, "the count of uncorrected errors", *fact);
    }
  }
  const auto dram = ecc.dram_uncorrected.value_or(0);
  const auto sram = ecc.sram_uncorrected.value_or(0);
  if (dram + sram == 0) return std::nullopt;
  Finding finding = gpu::about(gpu,
                               Outcome::fail,
                               fmt::format("{} in DRAM and {} in SRAM since the driver was loaded",
                                           counted(dram, "uncorrected error"),
                                           sram));
  finding.observed = count_value(dram + sram);
  finding.limit = count_value(0);
  finding.unit = "errors";
  finding.remedy = gpu::reset_remedy(snapshot);
  return finding;
}

Findings judge(const Snapshot& snapshot, const Profile& /*profile*/) {
  return gpu::each(
      snapshot,
      [&](const Gpu& gpu) { return judge_one(snapshot, gpu); },
      "without uncorrected memory errors");
}

}  // namespace

constinit const Check gpu_ecc_uncorrectable{
    .id = "gpu.ecc_uncorrectable",
    .title = "No uncorrected memory error since the driver was loaded",
    .why =
        "An uncorrected error destroyed data and ended the application that used it. The "
        "GPU keeps the damaged memory in use until it is reset: rows are remapped and "
        "pages retired then.",
    .fix =
        "Reset the GPU (nvidia-smi --gpu-reset) or reboot the node, then look at "
        "gpu.ecc_remapped_rows: it says whether the GPU could repair itself.",
    .needs = Probe::nvml | Probe::identity,
    .not_here = gpu::none_to_judge,
    .judge = judge,
};

}  // namespace muster::checks
