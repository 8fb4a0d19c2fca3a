// SPDX-License-Identifier: Apache-2.0
// gpu.mig: GPUs are partitioned, or not, as expected.
#include "checks/catalogue.hpp"
#include "checks/shared/gpus.hpp"
#include "lib/profile/limits/gpu.hpp"

namespace muster::checks::gpu_mig {
namespace {

std::optional<Finding> judge_one(const Gpu& gpu, bool expected) {
  const auto& modes = gpu.modes;
  // A GPU that cannot be partitioned is not.
  if (modes.mig.is_absent() && !expected) return std::nullopt;
  return gpu::judge_mode(gpu, "MIG", modes.mig, modes.mig_pending, expected);
}

Findings judge(const Snapshot& snapshot, const Profile& profile) {
  const auto& expected = profile.gpu->mig.expected;
  if (!expected) return {not_expected("MIG mode")};
  return gpu::each(
      snapshot, [&](const Gpu& gpu) { return judge_one(gpu, *expected); },
      fmt::format("with MIG {}", *expected ? "on" : "off"));
}

}  // namespace

constinit const Check check{
    .id = "gpu.mig",
    .title = "GPUs are partitioned (MIG) as expected",
    .why =
        "A GPU left in MIG mode shows up as slices, or not at all, to a job that wants it "
        "whole. With MIG on, the driver also hides some memory facts.",
    .fix = "nvidia-smi --multi-instance-gpu=0 (or 1), then reset the GPU.",
    .needs = Probe::nvml | Probe::identity,
    .not_here = gpu::none_to_judge,
    .judge = judge,
};

}  // namespace muster::checks::gpu_mig
