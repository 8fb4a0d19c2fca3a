// SPDX-License-Identifier: Apache-2.0
// gpu.ecc_mode: error correction is on, and will still be after the next reset.
#include "checks/catalogue.hpp"
#include "checks/shared/agreement.hpp"
#include "checks/shared/gpus.hpp"
#include "lib/profile/limits/gpu.hpp"

namespace muster::checks::gpu_ecc_mode {
namespace {

// Somebody may have switched it off on all GPUs; on one of them it was forgotten, or is broken.
Findings judge_by_sisters(const Snapshot& snapshot) {
  Sisters modes;
  for (const Gpu* each : gpu::answering(snapshot)) {
    if (!each->modes.ecc || !each->model) continue;
    modes.add({*each->model, gpu::name_of(*each), *each->modes.ecc ? 1.0 : 0.0});
  }
  const Finding like{.outcome = Outcome::warn, .remedy = Remedy::fix_config};
  auto findings = modes.differences({.what = "ECC mode", .devices = "GPUs"}, "", like);
  if (findings.empty()) findings.push_back(not_expected("ECC mode"));
  return findings;
}

Findings judge(const Snapshot& snapshot, const Profile& profile) {
  const auto& expected = profile.gpu->ecc_mode.expected;
  if (!expected) return judge_by_sisters(snapshot);
  return gpu::each(
      snapshot,
      [&](const Gpu& gpu) {
        return gpu::judge_mode(gpu, "ECC", gpu.modes.ecc, gpu.modes.ecc_pending, *expected);
      },
      fmt::format("with ECC {}", *expected ? "on" : "off"));
}

}  // namespace

constinit const Check check{
    .id = "gpu.ecc_mode",
    .title = "ECC is on, now and after the next reset",
    .why =
        "Without ECC a flipped bit in GPU memory is a wrong result that nobody notices. A mode "
        "that was changed takes force with the next reset only, so the pending mode is judged too.",
    .fix = "nvidia-smi --ecc-config=1, then reset the GPU or reboot the node.",
    .needs = Probe::nvml | Probe::identity,
    .not_here = gpu::none_to_judge,
    .judge = judge,
};

}  // namespace muster::checks::gpu_ecc_mode
