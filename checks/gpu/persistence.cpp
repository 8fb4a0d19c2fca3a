// SPDX-License-Identifier: Apache-2.0
// gpu.persistence: the driver keeps the GPUs initialised between jobs.
#include "checks/catalogue.hpp"
#include "checks/shared/gpus.hpp"

namespace muster::checks {
namespace {

std::optional<Finding> judge_one(const Gpu& gpu) {
  const auto& on = gpu.modes.persistence;
  if (!on) return gpu::not_told(gpu, "the persistence mode", on);
  if (*on) return std::nullopt;
  Finding finding = gpu::about(gpu, Outcome::warn, "persistence mode is off");
  finding.observed = false;
  finding.limit = true;
  finding.remedy = Remedy::fix_config;
  return finding;
}

Findings judge(const Snapshot& snapshot, const Profile& /*profile*/) {
  return gpu::each(snapshot, judge_one, "in persistence mode");
}

}  // namespace

constinit const Check gpu_persistence{
    .id = "gpu.persistence",
    .title = "The driver keeps the GPUs initialised",
    .why =
        "Without persistence mode the driver tears a GPU down when its last client "
        "leaves: the next job waits for it to start, and volatile error counters are "
        "lost.",
    .fix = "Enable nvidia-persistenced.service, or nvidia-smi --persistence-mode=1 at boot.",
    .needs = Probe::nvml | Probe::identity,
    .not_here = gpu::none_to_judge,
    .judge = judge,
};

}  // namespace muster::checks
