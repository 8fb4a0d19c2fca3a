// SPDX-License-Identifier: Apache-2.0
// gpu.compute_mode: who may use a GPU at the same time is as expected.
#include <string>
#include <utility>

#include "checks/catalogue.hpp"
#include "checks/shared/gpus.hpp"
#include "lib/profile/limits/gpu.hpp"

namespace muster::checks {
namespace {

std::string word_for(unsigned mode) {
  switch (mode) {
    case 0:
      return "default";
    case 1:
      return "exclusive_thread";
    case 2:
      return "prohibited";
    case 3:
      return "exclusive_process";
    default:
      return fmt::format("{}, which this muster does not know", mode);
  }
}

std::optional<Finding> judge_one(const Gpu& gpu, const std::string& expected) {
  const auto& mode = gpu.modes.compute;
  if (!mode) return gpu::not_told(gpu, "the compute mode", mode);
  const std::string word = word_for(*mode);
  if (word == expected) return std::nullopt;
  Finding finding = gpu::about(
      gpu, Outcome::fail, fmt::format("the compute mode is {}, expected {}", word, expected));
  finding.observed = word;
  finding.limit = expected;
  finding.remedy = Remedy::fix_config;
  return finding;
}

Findings judge(const Snapshot& snapshot, const Profile& profile) {
  const auto& expected = *profile.gpu->compute_mode.expected;
  return gpu::each(
      snapshot,
      [&](const Gpu& gpu) { return judge_one(gpu, expected); },
      fmt::format("in compute mode {}", expected));
}

std::optional<Finding> not_here(const Snapshot& snapshot, const Profile& profile) {
  if (!profile.gpu->compute_mode.expected) return not_expected("compute mode");
  return gpu::none_to_judge(snapshot, profile);
}

}  // namespace

constinit const Check gpu_compute_mode{
    .id = "gpu.compute_mode",
    .title = "GPUs are in the expected compute mode",
    .why =
        "The compute mode says who may use a GPU. In mode default any number of processes may; in "
        "exclusive_process the second one is refused, which stops jobs that start several "
        "processes for each GPU, and debuggers and monitors with them; in prohibited nobody can "
        "use it. The mode stays until the driver is loaded again, so that one job's choice, or an "
        "administrator's, meets the jobs after it.",
    .fix =
        "nvidia-smi --compute-mode=0 (0 default, 2 prohibited, 3 exclusive_process). A site that "
        "wants another mode on all nodes sets gpu.compute_mode.expected.",
    .needs = Probe::nvml | Probe::identity,
    .not_here = not_here,
    .judge = judge,
};

}  // namespace muster::checks
