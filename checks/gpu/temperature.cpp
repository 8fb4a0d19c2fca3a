// SPDX-License-Identifier: Apache-2.0
// gpu.temperature: GPU and memory are cool enough, with room left to the point where the GPU slows
// itself down.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "checks/catalogue.hpp"
#include "checks/shared/gpus.hpp"
#include "lib/profile/limits/gpu.hpp"

namespace muster::checks {
namespace {

Finding hot(const Snapshot& snapshot,
            const Gpu& gpu,
            Outcome outcome,
            std::string message,
            int observed,
            double limit) {
  Finding finding = gpu::about(gpu, outcome, std::move(message));
  finding.observed = std::int64_t{observed};
  finding.limit = limit;
  finding.unit = "C";
  finding.remedy = outcome == Outcome::fail ? hardware_remedy(snapshot) : Remedy::watch;
  return finding;
}

std::optional<Finding> above(const Snapshot& snapshot,
                             const Gpu& gpu,
                             std::string_view what,
                             int celsius,
                             const GpuTemperatureLimits& limits) {
  for (const auto& [limit, outcome] : {std::pair{&limits.fail_above, Outcome::fail},
                                       std::pair{&limits.warn_above, Outcome::warn}}) {
    if (!*limit || celsius <= (*limit)->value) continue;
    return hot(snapshot,
               gpu,
               outcome,
               fmt::format("the {} is at {} C, above {} C", what, celsius, (*limit)->value),
               celsius,
               (*limit)->value);
  }
  return std::nullopt;
}

// The worse of the two, of those that are known.
std::optional<Finding> worst_of(const Snapshot& snapshot,
                                const Gpu& gpu,
                                const GpuTemperatureLimits& limits) {
  const auto& heat = gpu.heat;
  std::optional<Finding> worst;
  if (heat.gpu_c) worst = above(snapshot, gpu, "GPU", *heat.gpu_c, limits);
  if (!heat.memory_c) return worst;
  auto memory = above(snapshot, gpu, "memory", *heat.memory_c, limits);
  if (memory && (!worst || rank(memory->outcome) < rank(worst->outcome))) worst = memory;
  return worst;
}

std::optional<Finding> close_to_slowdown(const Snapshot& snapshot,
                                         const Gpu& gpu,
                                         const GpuTemperatureLimits& limits) {
  const auto& margin = gpu.heat.margin_c;
  if (!margin || !limits.warn_margin_below) return std::nullopt;
  if (*margin >= limits.warn_margin_below->value) return std::nullopt;
  return hot(snapshot,
             gpu,
             Outcome::warn,
             fmt::format("{} C from where the GPU slows itself down, expected at least {} C",
                         *margin,
                         limits.warn_margin_below->value),
             *margin,
             limits.warn_margin_below->value);
}

// What is too hot fails, whatever else is not known; only then is something unknown.
std::optional<Finding> judge_one(const Snapshot& snapshot,
                                 const Gpu& gpu,
                                 const GpuTemperatureLimits& limits) {
  const auto& heat = gpu.heat;
  auto worst = worst_of(snapshot, gpu, limits);
  if (worst && worst->outcome == Outcome::fail) return worst;
  if (!heat.gpu_c) return gpu::not_told(gpu, "the temperature", heat.gpu_c);
  if (heat.memory_c.is_unreadable()) {
    return gpu::not_told(gpu, "the temperature of the memory", heat.memory_c);
  }
  return worst ? worst : close_to_slowdown(snapshot, gpu, limits);
}

Findings judge(const Snapshot& snapshot, const Profile& profile) {
  const auto& limits = profile.gpu->temperature;
  if (!limits.fail_above && !limits.warn_above && !limits.warn_margin_below) {
    return {not_limited("the temperature")};
  }
  return gpu::each(
      snapshot, [&](const Gpu& gpu) { return judge_one(snapshot, gpu, limits); }, "cool enough");
}

}  // namespace

constinit const Check gpu_temperature{
    .id = "gpu.temperature",
    .title = "GPUs and their memory are cool enough",
    .why =
        "A hot GPU slows itself down and holds back every job it takes part in. The "
        "temperature is compared with the profile's limits, and with the point at which "
        "this GPU begins to slow down where NVML tells it.",
    .fix =
        "Look at fans, air flow and the temperature of the room or of the coolant. In a "
        "virtual machine, report it to the provider.",
    .code = "NHC2017",
    .needs = Probe::nvml | Probe::identity,
    .not_here = gpu::none_to_judge,
    .judge = judge,
};

}  // namespace muster::checks
