// SPDX-License-Identifier: Apache-2.0
// gpu.power: the power limit in force is the one that it should be.
#include <algorithm>
#include <cmath>
#include <vector>

#include "checks/catalogue.hpp"
#include "checks/shared/agreement.hpp"
#include "checks/shared/gpus.hpp"
#include "lib/profile/limits/gpu.hpp"

namespace muster::checks::gpu_power {
namespace {

// A limit that was set to the same for all GPUs is a site's own: a fault lowers that of one, or
// one that nobody set.
bool is_set_for_all(const std::vector<const Gpu*>& gpus) {
  return gpus.size() > 1 && std::ranges::all_of(gpus, [&](const Gpu* each) {
           const auto& power = each->power;
           const bool set = !power.set_mw || *power.set_mw == power.enforced_mw.value_or(0);
           return power.enforced_mw && set &&
                  *power.enforced_mw == gpus.front()->power.enforced_mw.value_or(0);
         });
}

std::optional<Finding> judge_one(const Gpu& gpu, const Limit<Watts>& limit, bool set_for_all) {
  const auto& power = gpu.power;
  if (!power.enforced_mw) return gpu::not_told(gpu, "the power limit", power.enforced_mw);
  if (!limit && !power.default_mw) {
    return gpu::not_told(gpu, "the default power limit", power.default_mw);
  }
  const double enforced = static_cast<double>(*power.enforced_mw) / 1000;
  const double expected = limit ? limit->value : static_cast<double>(*power.default_mw) / 1000;
  constexpr double kRounding = 1;
  if (std::abs(enforced - expected) <= kRounding) return std::nullopt;
  if (!limit && set_for_all) return std::nullopt;
  return gpu::warned(gpu,
                     fmt::format("the power limit is {:.0f} W, {} {:.0f} W", enforced,
                                 limit ? "expected" : "by default it is", expected),
                     Remedy::fix_config, {enforced, expected, "W"});
}

// A GPU whose own default is another than that of its sisters is another board, or has another
// VBIOS.
Findings odd_defaults(const Snapshot& snapshot) {
  Sisters defaults;
  for (const Gpu* each : gpu::answering(snapshot)) {
    if (!each->model || !each->power.default_mw) continue;
    defaults.add({.kind = *each->model,
                  .device = gpu::name_of(*each),
                  .value = static_cast<double>(*each->power.default_mw) / 1000});
  }
  return defaults.differences({.what = "default power limit", .devices = "GPUs like it"}, " W",
                              {.outcome = Outcome::warn, .remedy = hardware_remedy(snapshot)});
}

Findings judge(const Snapshot& snapshot, const Profile& profile) {
  const auto& limit = profile.gpu->power.limit;
  const bool set_for_all = is_set_for_all(gpu::answering(snapshot));
  auto findings = gpu::each(
      snapshot, [&](const Gpu& gpu) { return judge_one(gpu, limit, set_for_all); },
      "at the power limit they should have");
  if (!limit) append(findings, odd_defaults(snapshot));
  return findings;
}

}  // namespace

constinit const Check check{
    .id = "gpu.power",
    .title = "The power limit is the expected or the default one",
    .why =
        "A GPU with a lowered power limit works, and slower than its neighbours. The "
        "limit in force is compared with the profile, or with the GPU's own default where "
        "the profile says nothing: there a limit that all GPUs of the node share is taken for the "
        "site's own, and the defaults of equal GPUs are compared.",
    .fix =
        "nvidia-smi --power-limit sets it; look for whoever lowered it (a management "
        "daemon, the power shelf).",
    .needs = Probe::nvml | Probe::identity,
    .not_here = gpu::none_to_judge,
    .judge = judge,
};

}  // namespace muster::checks::gpu_power
