// SPDX-License-Identifier: Apache-2.0
// gpu.ecc_mode: error correction is on, and will still be after the next reset.
#include <utility>

#include "checks/catalogue.hpp"
#include "checks/gpu/gpus.hpp"

namespace muster::checks {
namespace {

std::optional<Finding> judge_one(const Gpu& gpu, bool expected) {
  const auto& modes = gpu.modes;
  if (!modes.ecc) return gpu::not_told(gpu, "the ECC mode", modes.ecc);
  const auto word = [](bool on) { return on ? "on" : "off"; };
  std::string message;
  if (*modes.ecc != expected) {
    message = fmt::format("ECC is {}, expected {}", word(*modes.ecc), word(expected));
  } else if (modes.ecc_pending.value_or(expected) != expected) {
    message = fmt::format(
        "ECC is {} and will be {} after the next reset", word(expected), word(*modes.ecc_pending));
  } else {
    return std::nullopt;
  }
  Finding finding = gpu::about(gpu, Outcome::fail, std::move(message));
  finding.observed = *modes.ecc && modes.ecc_pending.value_or(*modes.ecc);
  finding.limit = expected;
  finding.remedy = Remedy::fix_config;
  return finding;
}

Findings judge(const Snapshot& snapshot, const Profile& profile) {
  const auto& expected = profile.gpu.ecc_mode.expected;
  if (!expected) return {not_expected("ECC mode")};
  return gpu::each(
      snapshot,
      [&](const Gpu& gpu) { return judge_one(gpu, *expected); },
      fmt::format("with ECC {}", *expected ? "on" : "off"));
}

}  // namespace

constinit const Check gpu_ecc_mode{
    .id = "gpu.ecc_mode",
    .title = "ECC is on, now and after the next reset",
    .why =
        "Without ECC a flipped bit in GPU memory is a wrong result that nobody notices. A "
        "mode that was changed takes force with the next reset only, so the pending mode "
        "is judged too.",
    .fix = "nvidia-smi --ecc-config=1, then reset the GPU or reboot the node.",
    .needs = Probe::nvml | Probe::identity,
    .not_here = gpu::none_to_judge,
    .judge = judge,
};

}  // namespace muster::checks
