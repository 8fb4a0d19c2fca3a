// SPDX-License-Identifier: Apache-2.0
// gpu.mig: GPUs are partitioned, or not, as expected.
#include <utility>

#include "checks/catalogue.hpp"
#include "checks/gpu/gpus.hpp"

namespace muster::checks {
namespace {

std::optional<Finding> judge_one(const Gpu& gpu, bool expected) {
  const auto& modes = gpu.modes;
  // A GPU that cannot be partitioned is not.
  if (modes.mig.is_absent() && !expected) return std::nullopt;
  if (!modes.mig) return gpu::not_told(gpu, "the MIG mode", modes.mig);
  const auto word = [](bool on) { return on ? "on" : "off"; };
  std::string message;
  if (*modes.mig != expected) {
    message = fmt::format("MIG is {}, expected {}", word(*modes.mig), word(expected));
  } else if (modes.mig_pending.value_or(expected) != expected) {
    message = fmt::format(
        "MIG is {} and will be {} after the next reset", word(expected), word(*modes.mig_pending));
  } else {
    return std::nullopt;
  }
  Finding finding = gpu::about(gpu, Outcome::fail, std::move(message));
  finding.observed = *modes.mig;
  finding.limit = expected;
  finding.remedy = Remedy::fix_config;
  return finding;
}

Findings judge(const Snapshot& snapshot, const Profile& profile) {
  const auto& expected = profile.gpu.mig.expected;
  if (!expected) return {not_expected("MIG mode")};
  return gpu::each(
      snapshot,
      [&](const Gpu& gpu) { return judge_one(gpu, *expected); },
      fmt::format("with MIG {}", *expected ? "on" : "off"));
}

}  // namespace

constinit const Check gpu_mig{
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

}  // namespace muster::checks
