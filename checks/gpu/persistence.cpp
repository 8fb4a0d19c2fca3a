// SPDX-License-Identifier: Apache-2.0
// gpu.persistence: the driver keeps the GPUs initialised between jobs.
#include <algorithm>

#include "checks/catalogue.hpp"
#include "checks/shared/gpus.hpp"
#include "lib/profile/limits/gpu.hpp"

namespace muster::checks::gpu_persistence {
namespace {

std::optional<Finding> judge_one(const Gpu& gpu, bool expected) {
  const auto& on = gpu.modes.persistence;
  if (!on) return gpu::not_told(gpu, "the persistence mode", on);
  if (*on == expected) return std::nullopt;
  return gpu::warned(gpu, fmt::format("persistence mode is {}", *on ? "on" : "off"),
                     Remedy::fix_config, {*on, expected});
}

// Off on all GPUs is a site's choice, unless its profile says otherwise.
Findings judge(const Snapshot& snapshot, const Profile& profile) {
  const auto gpus = gpu::answering(snapshot);
  const bool any_on = std::ranges::any_of(
      gpus, [](const Gpu* each) { return each->modes.persistence.value_or(false); });
  const bool expected = profile.gpu->persistence.expected.value_or(any_on);
  return gpu::each(
      snapshot, [&](const Gpu& gpu) { return judge_one(gpu, expected); },
      expected ? "in persistence mode" : "without persistence mode, all of them");
}

}  // namespace

constinit const Check check{
    .id = "gpu.persistence",
    .title = "The driver keeps the GPUs initialised",
    .why =
        "Without persistence mode the driver tears a GPU down when its last client "
        "leaves: the next job waits for it to start, and volatile error counters are "
        "lost. Some sites do without: where the profile does not say (gpu.persistence.expected), "
        "the GPUs of a node are to be in the same mode.",
    .fix = "Enable nvidia-persistenced.service, or nvidia-smi --persistence-mode=1 at boot.",
    .needs = Probe::nvml | Probe::identity,
    .not_here = gpu::none_to_judge,
    .judge = judge,
};

}  // namespace muster::checks::gpu_persistence
