// SPDX-License-Identifier: Apache-2.0
// gpu.power: the power limit in force is the one that it should be.
#include <cmath>

#include "checks/catalogue.hpp"
#include "checks/shared/gpus.hpp"
#include "lib/profile/limits/gpu.hpp"

namespace muster::checks {
namespace {

std::optional<Finding> judge_one(const Gpu& gpu, const Limit<Watts>& limit) {
  const auto& power = gpu.power;
  if (!power.enforced_mw) return gpu::not_told(gpu, "the power limit", power.enforced_mw);
  if (!limit && !power.default_mw) {
    return gpu::not_told(gpu, "the default power limit", power.default_mw);
  }
  const double enforced = static_cast<double>(*power.enforced_mw) / 1000;
  const double expected = limit ? limit->value : static_cast<double>(*power.default_mw) / 1000;
  constexpr double kRounding = 1;
  if (std::abs(enforced - expected) <= kRounding) return std::nullopt;
  Finding finding = gpu::about(gpu,
                               Outcome::warn,
                               fmt::format("the power limit is {:.0f} W, {} {:.0f} W",
                                           enforced,
                                           limit ? "expected" : "by default it is",
                                           expected));
  finding.observed = enforced;
  finding.limit = expected;
  finding.unit = "W";
  finding.remedy = Remedy::fix_config;
  return finding;
}

Findings judge(const Snapshot& snapshot, const Profile& profile) {
  return gpu::each(
      snapshot,
      [&](const Gpu& gpu) { return judge_one(gpu, profile.gpu->power.limit); },
      "at the power limit they should have");
}

}  // namespace

constinit const Check gpu_power{
    .id = "gpu.power",
    .title = "The power limit is the expected or the default one",
    .why =
        "A GPU with a lowered power limit works, and slower than its neighbours. The "
        "limit in force is compared with the profile, or with the GPU's own default where "
        "the profile says nothing.",
    .fix =
        "nvidia-smi --power-limit sets it; look for whoever lowered it (a management "
        "daemon, the power shelf).",
    .needs = Probe::nvml | Probe::identity,
    .not_here = gpu::none_to_judge,
    .judge = judge,
};

}  // namespace muster::checks
