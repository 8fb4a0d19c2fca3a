// SPDX-License-Identifier: Apache-2.0
// The temperature and the power limit of GPUs.
#include <cmath>

#include "checks/catalogue.hpp"
#include "checks/shared/gpus.hpp"
#include "checks/shared/peers.hpp"
#include "lib/profile/limits/gpu.hpp"

namespace muster::checks {

// gpu.temperature: GPU and memory are cool, with a margin to the point where the GPU slows down.
namespace gpu_temperature {
namespace {

Finding hot(const Snapshot& snapshot, const Gpu& gpu, Outcome outcome, std::string message,
            int observed, double limit) {
  return gpu::about(gpu, outcome, std::move(message),
                    outcome == Outcome::fail ? hardware_remedy(snapshot) : Remedy::watch,
                    {observed, limit, "C"});
}

// `allowed`: the GPU's own limit for this part.
std::optional<Finding> above(const Snapshot& snapshot, const Gpu& gpu, std::string_view what,
                             int celsius, const Limit<Celsius>& fail_above,
                             const Limit<Celsius>& warn_above, const Fact<int>& allowed = {}) {
  const auto finding = [&](Outcome outcome, double limit, std::string_view whose) {
    return hot(snapshot, gpu, outcome,
               fmt::format("{} at {} C, expected at most {}{} C", what, celsius, whose, limit),
               celsius, limit);
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

// The GPU slows down, or is about to.
std::optional<Finding> slowdown(const Snapshot& snapshot, const Gpu& gpu,
                                const GpuTemperatureLimits& limits) {
  const auto& margin = gpu.heat.margin_c;
  if (!margin) return std::nullopt;
  if (*margin <= 0) {
    return hot(snapshot, gpu, Outcome::fail,
               *margin == 0
                   ? "at the temperature where the GPU slows down"
                   : fmt::format("{} C above the temperature where the GPU slows down", -*margin),
               *margin, 0);
  }
  if (!limits.warn_margin_below || *margin >= limits.warn_margin_below->value) return std::nullopt;
  return hot(
      snapshot, gpu, Outcome::warn,
      fmt::format("{} C below the temperature where the GPU slows down, expected at least {} C",
                  *margin, limits.warn_margin_below->value),
      *margin, limits.warn_margin_below->value);
}

// The worst known state of GPU, memory and slowdown; the first of equals.
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

// A part that is too hot fails, even if other temperatures are unknown.
std::optional<Finding> judge_one(const Snapshot& snapshot, const Gpu& gpu,
                                 const GpuTemperatureLimits& limits) {
  const auto& heat = gpu.heat;
  auto worst = worst_of(snapshot, gpu, limits);
  if (worst && worst->outcome == Outcome::fail) return worst;
  if (!heat.gpu_c) return gpu::not_reported(gpu, "the temperature", heat.gpu_c);
  if (heat.memory_c.is_unreadable()) {
    return gpu::not_reported(gpu, "the temperature of the memory", heat.memory_c);
  }
  return worst;
}

Findings judge(const Snapshot& snapshot, const Profile& profile) {
  const auto& limits = profile.gpu->temperature;
  return gpu::each(
      snapshot, [&](const Gpu& gpu) { return judge_one(snapshot, gpu, limits); },
      "within temperature limits");
}

}  // namespace

constinit const Check check{
    .id = "gpu.temperature",
    .title = "GPUs and their memory are cool enough",
    .why =
        "A hot GPU slows down and holds back every job it is part of. The temperature is compared "
        "with the profile's limits, and with the GPU's own if NVML reports them: where it begins "
        "to slow down, and the maximum for its memory. Memory runs hotter than the GPU: above 90 C "
        "under load is normal.",
    .fix =
        "Look at fans, air flow and the temperature of the room or of the coolant. In a virtual "
        "machine, report it to the provider.",
    .code = "NHC2017",
    .needs = Probe::nvml | Probe::identity,
    .not_here = gpu::none_to_judge,
    .judge = judge,
};

}  // namespace gpu_temperature

// gpu.power: the power limit is the expected one.
namespace gpu_power {
namespace {

// A limit that was set to the same value on all GPUs is the site's choice. A fault lowers the limit
// of one GPU, or without setting it.
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
  if (!power.enforced_mw) return gpu::not_reported(gpu, "the power limit", power.enforced_mw);
  if (!limit && !power.default_mw) {
    return gpu::not_reported(gpu, "the default power limit", power.default_mw);
  }
  const double enforced = static_cast<double>(*power.enforced_mw) / 1000;
  const double expected = limit ? limit->value : static_cast<double>(*power.default_mw) / 1000;
  constexpr double kRounding = 1;
  if (std::abs(enforced - expected) <= kRounding) return std::nullopt;
  if (!limit && set_for_all) return std::nullopt;
  return gpu::warned(gpu,
                     fmt::format("power limit is {:.0f} W, expected {}{:.0f} W", enforced,
                                 limit ? "" : "the default of ", expected),
                     Remedy::fix_config, {enforced, expected, "W"});
}

// A GPU whose default differs from that of its peers is another board or has another VBIOS.
Findings compare_default_limits(const Snapshot& snapshot) {
  const auto watts = [](const Gpu& gpu) -> std::optional<double> {
    if (!gpu.power.default_mw) return std::nullopt;
    return static_cast<double>(*gpu.power.default_mw) / 1000;
  };
  return gpu::peers_by_model(snapshot, watts)
      .differences({.what = "default power limit", .devices = "GPUs like it"}, " W",
                   {.outcome = Outcome::warn, .remedy = hardware_remedy(snapshot)});
}

Findings judge(const Snapshot& snapshot, const Profile& profile) {
  const auto& limit = profile.gpu->power.limit;
  const bool set_for_all = is_set_for_all(gpu::answering(snapshot));
  auto findings = gpu::each(
      snapshot, [&](const Gpu& gpu) { return judge_one(gpu, limit, set_for_all); },
      "at the expected power limit");
  if (!limit) append(findings, compare_default_limits(snapshot));
  return findings;
}

}  // namespace

constinit const Check check{
    .id = "gpu.power",
    .title = "The power limit is the expected or the default one",
    .why =
        "A GPU with a lowered power limit works, but slower than its neighbours. The limit is "
        "compared with the profile, or with the GPU's own default. In the latter case a limit that "
        "all GPUs share is taken for the site's choice, and the defaults of equal GPUs are "
        "compared.",
    .fix =
        "Set it with nvidia-smi --power-limit; find out what lowered it (a management daemon, the "
        "power shelf).",
    .needs = Probe::nvml | Probe::identity,
    .not_here = gpu::none_to_judge,
    .judge = judge,
};

}  // namespace gpu_power

}  // namespace muster::checks
