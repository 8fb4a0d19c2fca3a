// SPDX-License-Identifier: Apache-2.0
// gpu.ecc_corrected: corrected memory errors below what wears a job down.
#include <cstdint>

#include "checks/catalogue.hpp"
#include "checks/shared/gpus.hpp"
#include "lib/profile/limits/gpu.hpp"

namespace muster::checks::gpu_ecc_corrected {
namespace {

std::optional<Finding> above(const Gpu& gpu, std::string_view where,
                             const Fact<std::uint64_t>& errors, const Limit<int>& limit) {
  if (!limit || errors.is_absent()) return std::nullopt;
  if (!errors) {
    return gpu::not_told(gpu, fmt::format("the count of corrected {} errors", where), errors);
  }
  if (*errors <= static_cast<std::uint64_t>(*limit)) return std::nullopt;
  return gpu::warned(gpu,
                     fmt::format("{} in {} over its life, more than {}",
                                 counted(*errors, "corrected error"), where, *limit),
                     Remedy::watch, {count_value(*errors), *limit, "errors"});
}

std::optional<Finding> judge_one(const Snapshot& snapshot, const Gpu& gpu,
                                 const GpuEccCorrectedLimits& limits) {
  const auto& ecc = gpu.ecc_aggregate;
  if (!ecc.dram_corrected && !ecc.sram_corrected) {
    return gpu::not_told_beside(
        snapshot, gpu, "the count of corrected errors", [](const Gpu& each) -> const auto& {
          const auto& told = each.ecc_aggregate;
          return told.dram_corrected.is_absent() ? told.sram_corrected : told.dram_corrected;
        });
  }
  if (auto dram = above(gpu, "DRAM", ecc.dram_corrected, limits.dram_warn_above)) return dram;
  return above(gpu, "SRAM", ecc.sram_corrected, limits.sram_warn_above);
}

Findings judge(const Snapshot& snapshot, const Profile& profile) {
  const auto& limits = profile.gpu->ecc_corrected;
  if (!limits.dram_warn_above && !limits.sram_warn_above) {
    return {not_limited("corrected memory errors")};
  }
  return gpu::each(
      snapshot, [&](const Gpu& gpu) { return judge_one(snapshot, gpu, limits); },
      "with few corrected memory errors");
}

}  // namespace

constinit const Check check{
    .id = "gpu.ecc_corrected",
    .title = "Corrected memory errors stay below their limits",
    .why =
        "Corrected errors cost a little time and no data. Very many of them are the first "
        "sign of a memory that fails.",
    .fix =
        "Watch the GPU: when gpu.ecc_remapped_rows or gpu.ecc_uncorrectable speak up, act "
        "on those.",
    .code = "NHC2019",
    .needs = Probe::nvml | Probe::identity,
    .not_here = gpu::none_to_judge,
    .judge = judge,
};

}  // namespace muster::checks::gpu_ecc_corrected
