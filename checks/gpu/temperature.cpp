// SPDX-License-Identifier: Apache-2.0
// gpu.temperature: GPU and memory are cool enough, with room left to the point where the GPU slows
// itself down.
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "checks/catalogue.hpp"
#include "checks/shared/gpus.hpp"
#include "lib/profile/limits/gpu.hpp"

namespace muster::checks::gpu_temperature {
namespace {

Finding hot(const Snapshot& snapshot, const Gpu& gpu, Outcome outcome, std::string message,
            int observed, double limit) {
  return gpu::about(gpu, outcome, std::move(message),
                    outcome == Outcome::fail ? hardware_remedy(snapshot) : Remedy::watch,
                    {observed, limit, "C"});
}

// `allowed`: the highest temperature that this part may have, by its GPU's own word.
std::optional<Finding> above(const Snapshot& snapshot, const Gpu& gpu, std::string_view what,
                             int celsius, const Limit<Celsius>& fail_above,
                             const Limit<Celsius>& warn_above, const Fact<int>& allowed = {}) {
  const auto finding = [&](Outcome outcome, double limit, std::string_view whose) {
    return hot(snapshot, gpu, outcome,
               fmt::format("the {} is at {} C, above {}{} C", what, celsius, whose, limit), celsius,
               limit);
  };
  if (fail_above && celsius > fail_above->value) {
    return finding(Outcome::fail, fail_above->value, "");
  }
  if (!fail_above && allowed && celsius > *allowed) {
    return finding(Outcome::fail, *allowed, "the GPU's own limit of ");
  }
  if (warn_above && celsius > warn_above->value) {
    return finding(Outcome::warn, warn_above->value, "");
  }
  return std::nullopt;
}

// The GPU slows itself down, or is close to it.
std::optional<Finding> slowdown(const Snapshot& snapshot, const Gpu& gpu,
                                const GpuTemperatureLimits& limits) {
  const auto& margin = gpu.heat.margin_c;
  if (!margin) return std::nullopt;
  if (*margin <= 0) {
    return hot(snapshot, gpu, Outcome::fail,
               *margin == 0
                   ? "at the point where the GPU slows itself down"
                   : fmt::format("{} C above the point where the GPU slows itself down", -*margin),
               *margin, 0);
  }
  if (!limits.warn_margin_below || *margin >= limits.warn_margin_below->value) return std::nullopt;
  return hot(snapshot, gpu, Outcome::warn,
             fmt::format("{} C from where the GPU slows itself down, expected at least {} C",
                         *margin, limits.warn_margin_below->value),
             *margin, limits.warn_margin_below->value);
}

// The worst of GPU, memory and slowdown, of those that are known; of equals the first.
std::optional<Finding> worst_of(const Snapshot& snapshot, const Gpu& gpu,
                                const GpuTemperatureLimits& limits) {
  const auto& heat = gpu.heat;
  std::optional<Finding> worst;
  const auto count = [&](std::optional<Finding> next) {
    if (next && (!worst || rank(next->outcome) < rank(worst->outcome))) worst = std::move(next);
  };
  if (heat.gpu_c) {
    count(above(snapshot, gpu, "GPU", *heat.gpu_c, limits.fail_above, limits.warn_above));
  }
  if (heat.memory_c) {
    count(above(snapshot, gpu, "memory", *heat.memory_c, limits.memory_fail_above,
                limits.memory_warn_above, heat.memory_max_c));
  }
  count(slowdown(snapshot, gpu, limits));
  return worst;
}

// What is too hot fails, whatever else is not known; only then is something unknown.
std::optional<Finding> judge_one(const Snapshot& snapshot, const Gpu& gpu,
                                 const GpuTemperatureLimits& limits) {
  const auto& heat = gpu.heat;
  auto worst = worst_of(snapshot, gpu, limits);
  if (worst && worst->outcome == Outcome::fail) return worst;
  if (!heat.gpu_c) return gpu::not_told(gpu, "the temperature", heat.gpu_c);
  if (heat.memory_c.is_unreadable()) {
    return gpu::not_told(gpu, "the temperature of the memory", heat.memory_c);
  }
  return worst;
}

Findings judge(const Snapshot& snapshot, const Profile& profile) {
  const auto& limits = profile.gpu->temperature;
  return gpu::each(
      snapshot, [&](const Gpu& gpu) { return judge_one(snapshot, gpu, limits); }, "cool enough");
}

}  // namespace

constinit const Check check{
    .id = "gpu.temperature",
    .title = "GPUs and their memory are cool enough",
    .why =
        "A hot GPU slows itself down and holds back every job it takes part in. The "
        "temperature is compared with the profile's limits, and with the GPU's own where NVML "
        "tells them: the point at which it begins to slow down, and what its memory may have. "
        "Memory runs hotter than the GPU: above 90 C under load is usual.",
    .fix =
        "Look at fans, air flow and the temperature of the room or of the coolant. In a "
        "virtual machine, report it to the provider.",
    .code = "NHC2017",
    .needs = Probe::nvml | Probe::identity,
    .not_here = gpu::none_to_judge,
    .judge = judge,
};

}  // namespace muster::checks::gpu_temperature
