// SPDX-License-Identifier: Apache-2.0
// gpu.temperature: GPU and memory are cool enough, with room left to the point where the GPU slows
// itself down.
#include <cstdint>
#include <string_view>
#include <utility>

#include "checks/catalogue.hpp"
#include "checks/gpu/gpus.hpp"

namespace muster::checks {
namespace {

Finding hot(const Gpu& gpu, Outcome outcome, std::string message, int observed, double limit) {
  Finding finding = gpu::about(gpu, outcome, std::move(message));
  finding.observed = std::int64_t{observed};
  finding.limit = limit;
  finding.unit = "C";
  finding.remedy = outcome == Outcome::fail ? Remedy::report_to_provider : Remedy::watch;
  return finding;
}

std::optional<Finding> above(const Gpu& gpu,
                             std::string_view what,
                             int celsius,
                             const GpuTemperatureLimits& limits) {
  for (const auto& [limit, outcome] : {std::pair{&limits.fail_above, Outcome::fail},
                                       std::pair{&limits.warn_above, Outcome::warn}}) {
    if (!*limit || celsius <= (*limit)->value) continue;
    return hot(gpu,
               outcome,
               fmt::format("the {} is at {} C, above {} C", what, celsius, (*limit)->value),
               celsius,
               (*limit)->value);
  }
  return std::nullopt;
}

std::optional<Finding> judge_one(const Gpu& gpu, const GpuTemperatureLimits& limits) {
  const auto& heat = gpu.heat;
  if (!heat.gpu_c) return gpu::not_told(gpu, "the temperature", heat.gpu_c);
  if (heat.memory_c.is_unreadable()) {
    return gpu::not_told(gpu, "the temperature of the memory", heat.memory_c);
  }
  auto worst = above(gpu, "GPU", *heat.gpu_c, limits);
  if (heat.memory_c) {
    auto memory = above(gpu, "memory", *heat.memory_c, limits);
    if (memory && (!worst || rank(memory->outcome) < rank(worst->outcome))) worst = memory;
  }
  if (worst || !heat.margin_c || !limits.warn_margin_below) return worst;
  if (*heat.margin_c >= limits.warn_margin_below->value) return std::nullopt;
  return hot(gpu,
             Outcome::warn,
             fmt::format("{} C from where the GPU slows itself down, expected at least {} C",
                         *heat.margin_c,
                         limits.warn_margin_below->value),
             *heat.margin_c,
             limits.warn_margin_below->value);
}

Findings judge(const Snapshot& snapshot, const Profile& profile) {
  const auto& limits = profile.gpu.temperature;
  if (!limits.fail_above && !limits.warn_above && !limits.warn_margin_below) {
    return {not_limited("the temperature")};
  }
  return gpu::each(
      snapshot, [&](const Gpu& gpu) { return judge_one(gpu, limits); }, "cool enough");
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
    .needs = Probe::nvml | Probe::identity,
    .not_here = gpu::none_to_judge,
    .judge = judge,
};

}  // namespace muster::checks
