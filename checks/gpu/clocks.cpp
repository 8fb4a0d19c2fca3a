// SPDX-License-Identifier: Apache-2.0
// The clocks, the temperature and the power limit of GPUs.
#include <fmt/ranges.h>

#include <cmath>

#include "checks/catalogue.hpp"
#include "checks/shared/gpus.hpp"
#include "checks/shared/peers.hpp"
#include "checks/shared/rise.hpp"

namespace muster::checks {
namespace {

// gpu.clocks: no GPU is slowed down by heat, power or locked application clocks.

using Reasons = std::uint64_t;

// Bits of NVML's mask. Not judged: 0x1 idle, 0x2 application clocks (judged by value), 0x4 software
// power cap (normal under load), 0x10 sync boost, 0x100 display.
constexpr Reasons kHardware = 0x8;  // set with each of the two below, or by a fast trigger alone
constexpr Reasons kSoftwareThermal = 0x20;
constexpr Reasons kHardwareThermal = 0x40;
constexpr Reasons kPowerBrake = 0x80;
constexpr Reasons kKnown = 0x1ff;

constexpr std::string_view kThermalCode = "NHC2017";

// Empty if the hardware does not limit the clocks.
std::string hardware_words(Reasons reasons) {
  std::vector<std::string_view> words;
  if ((reasons & kHardwareThermal) != 0) words.emplace_back("hardware thermal slowdown");
  if ((reasons & kPowerBrake) != 0) words.emplace_back("hardware power brake");
  if (words.empty() && (reasons & kHardware) != 0) words.emplace_back("hardware slowdown");
  return fmt::format("{}", fmt::join(words, " and "));
}

// ", now at 345 of 1980 MHz"; empty if NVML does not report the clock.
std::string clock_now(const GpuClocks& clocks) {
  if (!clocks.sm_mhz || !clocks.sm_max_mhz) return {};
  return fmt::format(", now at {} of {} MHz", *clocks.sm_mhz, *clocks.sm_max_mhz);
}

Finding held_down(const Gpu& gpu, Outcome outcome, const std::string& words, Remedy remedy,
                  const std::string& when = {}) {
  return gpu::about(gpu, outcome,
                    fmt::format("throttled by {}{}{}{}", words, when.empty() ? "" : ", ", when,
                                clock_now(gpu.clocks)),
                    remedy, {words, "none"});
}

// gpu.temperature reports the same heat.
Finding too_hot(Finding finding) {
  finding.code = kThermalCode;
  finding.seen_by = {{.check = "gpu.temperature", .device = finding.device}};
  return finding;
}

// How long the hardware slowed a GPU down.
struct SlowTime {
  double part = 0;  // of `seconds`, from 0 to 1
  double seconds = 0;
};

struct SlowTimes {
  std::optional<SlowTime> heat;
  std::optional<SlowTime> brake;
};

// Drivers before 580 use these fields for other values.
bool reports_times(const Snapshot& snapshot) {
  constexpr std::uint64_t kSince = 580;
  const std::string driver = snapshot.nvml->driver.value_or("");
  return parse_unsigned(driver.substr(0, driver.find('.'))).value_or(kSince) >= kSince;
}

// Returns how long the hardware slowed the GPU down: in the last hour, or since boot in the first
// run.
SlowTimes slow_times_of(const Snapshot& snapshot, const Gpu& gpu) {
  const double uptime = snapshot.identity->uptime_s.value_or(0);
  if (uptime <= 0 || !reports_times(snapshot)) return {};
  const auto time = [&](std::string_view name,
                        const Fact<std::uint64_t>& nanoseconds) -> std::optional<SlowTime> {
    if (!nanoseconds) return std::nullopt;
    const auto rise = rise_of(snapshot, fmt::format("gpu.{}.{}", gpu.address, name), *nanoseconds);
    const double seconds = rise ? rise->seconds : std::max(uptime, kHour);
    const auto slowed = static_cast<double>(rise ? rise->increments : *nanoseconds) / kGiga;
    return SlowTime{.part = std::min(1.0, slowed / seconds), .seconds = seconds};
  };
  return {.heat = time("hardware_thermal_ns", gpu.clocks.hardware_thermal_ns),
          .brake = time("power_brake_ns", gpu.clocks.power_brake_ns)};
}

// True if a run at least five minutes ago saw the GPU slowed as well.
bool seen_before(const Snapshot& snapshot, const Gpu& gpu) {
  constexpr double kLongEnoughS = 300;
  const auto& uptime = snapshot.identity->uptime_s;
  const auto& counters = snapshot.earlier.counters;
  const auto found = counters.find(fmt::format("gpu.{}.slowdown", gpu.address));
  if (!uptime || found == counters.end() || found->second.empty()) return false;
  const auto& last = found->second.back();
  return last.value != 0 && *uptime - last.uptime_s >= kLongEnoughS;
}

// A slowdown that lasts, unlike the short ones of a busy GPU.
struct LastingSlowdown {
  Reasons reason = 0;
  std::string words;
};

std::optional<LastingSlowdown> lasting(const Snapshot& snapshot, const Gpu& gpu,
                                       const GpuClockLimits& limits) {
  const auto [heat, brake] = slow_times_of(snapshot, gpu);
  const bool by_heat = heat && (!brake || heat->part >= brake->part);
  if (const auto& worst = by_heat ? heat : brake; worst && limits.slowed_fail_above) {
    const double percent = worst->part * 100;
    if (percent > limits.slowed_fail_above->value) {
      return LastingSlowdown{
          .reason = by_heat ? kHardwareThermal : kPowerBrake,
          .words = fmt::format("{:.0f}% of {}", percent, in_time(worst->seconds))};
    }
  }
  // Older drivers report no times, and none reports the time of a fast trigger.
  const Reasons now = gpu.clocks.reasons.value_or(0) & kHardwareSlowdown;
  const bool timed = (heat || brake) && now != kHardware;
  if (now == 0 || timed || !seen_before(snapshot, gpu)) return std::nullopt;
  return LastingSlowdown{.reason = now, .words = "as in an earlier run"};
}

// Why a slowdown that was seen now only warns.
std::string momentary(const Snapshot& snapshot, const Gpu& gpu) {
  const bool timed = gpu.clocks.hardware_thermal_ns || gpu.clocks.power_brake_ns;
  if (timed && reports_times(snapshot)) return "at this moment";
  return "at this moment (fails if it lasts until the next run: the driver does not report how "
         "long it lasted)";
}

std::optional<Finding> judge_reasons(const Snapshot& snapshot, const Gpu& gpu,
                                     const GpuClockLimits& limits, Reasons already_reported) {
  const auto held = lasting(snapshot, gpu, limits);
  const Reasons reasons =
      (gpu.clocks.reasons.value_or(0) | (held ? held->reason : 0)) & ~already_reported;
  if (const auto words = hardware_words(reasons); !words.empty()) {
    Finding finding = held_down(gpu, held ? Outcome::fail : Outcome::warn, words,
                                held ? hardware_remedy(snapshot) : Remedy::watch,
                                held ? held->words : momentary(snapshot, gpu));
    return (reasons & kHardwareThermal) != 0 ? too_hot(std::move(finding)) : finding;
  }
  if (const Reasons unknown = reasons & ~kKnown; unknown != 0) {
    return gpu::warned(gpu,
                       fmt::format("throttled for an unknown reason (bits {:#x}){}", unknown,
                                   clock_now(gpu.clocks)),
                       Remedy::watch, {count_value(unknown)});
  }
  if ((reasons & kSoftwareThermal) == 0) return std::nullopt;
  return too_hot(held_down(gpu, Outcome::warn, "software thermal slowdown", Remedy::watch));
}

std::optional<Finding> judge_locked(const Gpu& gpu, const Limit<Hertz>& limit) {
  const auto& application = gpu.clocks.application_sm_mhz;
  const auto& by_default = gpu.clocks.default_sm_mhz;
  if (application.is_unreadable()) {
    return gpu::not_reported(gpu, "the application clock", application);
  }
  if (!limit && by_default.is_unreadable()) {
    return gpu::not_reported(gpu, "the default application clock", by_default);
  }
  // Newer drivers have no application clocks.
  if (!application || (!limit && !by_default)) return std::nullopt;
  const double expected = limit ? limit->value / kMega : *by_default;
  if (std::abs(*application - expected) < 1) return std::nullopt;
  return gpu::warned(gpu,
                     fmt::format("application clock locked at {} MHz, expected {}{:g} MHz",
                                 *application, limit ? "" : "the default of ", expected),
                     Remedy::fix_config, {static_cast<double>(*application), expected, "MHz"});
}

// A busy GPU with a low clock and no reason from the driver. A single observation only warns.
std::optional<Finding> judge_slow(const Gpu& gpu) {
  constexpr unsigned kBusyPercent = 90;
  constexpr Reasons kExplained = 0x17;  // idle, application clocks, power cap, sync boost
  const auto& clocks = gpu.clocks;
  if (!clocks.reasons || !clocks.sm_mhz || !clocks.sm_max_mhz) return std::nullopt;
  const bool low = *clocks.sm_mhz * 2 < *clocks.sm_max_mhz;
  if (!low || (*clocks.reasons & kExplained) != 0) return std::nullopt;
  if (gpu.utilisation.value_or(0) < kBusyPercent) return std::nullopt;
  return gpu::warned(
      gpu,
      fmt::format("busy at {} of {} MHz without a reason from the driver", *clocks.sm_mhz,
                  *clocks.sm_max_mhz),
      Remedy::watch,
      {static_cast<double>(*clocks.sm_mhz), static_cast<double>(*clocks.sm_max_mhz), "MHz"});
}

std::optional<Finding> judge_clocks_of(const Snapshot& snapshot, const Gpu& gpu,
                                       const GpuClockLimits& limits, Reasons already_reported) {
  constexpr std::string_view kWhat = "the reason for limited clocks";
  const auto& reasons = gpu.clocks.reasons;
  if (reasons.is_unreadable()) return gpu::not_reported(gpu, kWhat, reasons);
  auto held = judge_reasons(snapshot, gpu, limits, already_reported);
  if (held && held->outcome != Outcome::warn) return held;
  auto locked = judge_locked(gpu, limits.application_sm);
  if (held || locked) return held ? held : locked;
  if (reasons.is_absent()) return gpu::not_reported(gpu, kWhat, reasons);
  for (const auto* clock : {&gpu.clocks.sm_mhz, &gpu.clocks.sm_max_mhz}) {
    if (clock->is_unreadable()) return gpu::not_reported(gpu, "the clock", *clock);
  }
  return judge_slow(gpu);
}

// A power brake on all GPUs at once means that the node lacks power.
bool all_braked(const std::vector<const Gpu*>& gpus) {
  return gpus.size() > 1 && std::ranges::all_of(gpus, [](const Gpu* each) {
           const Reasons reasons = each->clocks.reasons.value_or(0);
           return (reasons & kPowerBrake) != 0 && (reasons & kHardwareThermal) == 0;
         });
}

Finding short_of_power(const Snapshot& snapshot, const std::vector<const Gpu*>& gpus,
                       const GpuClockLimits& limits) {
  std::optional<LastingSlowdown> held;
  for (const Gpu* each : gpus) {
    if (!held) held = lasting(snapshot, *each, limits);
  }
  return about(kNode, held ? Outcome::fail : Outcome::warn,
               fmt::format("all {} GPUs throttled by the hardware power brake, {}: check the power "
                           "supplies or the power shelf",
                           gpus.size(), held ? held->words : momentary(snapshot, *gpus.front())),
               held ? hardware_remedy(snapshot) : Remedy::watch, {"hardware power brake", "none"});
}

Findings judge_clocks(const Snapshot& snapshot, const Profile& profile) {
  const auto gpus = gpu::answering(snapshot);
  Findings findings;
  Reasons already_reported = 0;
  if (all_braked(gpus)) {
    findings.push_back(short_of_power(snapshot, gpus, profile.gpu->clocks));
    already_reported = kPowerBrake | kHardware;
  }
  auto more = gpu::each(
      snapshot,
      [&](const Gpu& gpu) {
        return judge_clocks_of(snapshot, gpu, profile.gpu->clocks, already_reported);
      },
      "not throttled");
  if (!findings.empty()) drop_passes(more);
  append(findings, std::move(more));
  // A GPU whose maximum clock is lower than that of its peers.
  append(findings,
         gpu::peers_by_model(snapshot, [](const Gpu& gpu) { return gpu.clocks.sm_max_mhz; })
             .differences({.what = "highest clock", .devices = "GPUs like it"}, " MHz",
                          {.outcome = Outcome::warn, .remedy = hardware_remedy(snapshot)}));
  return findings;
}

void margins_of_clocks(const Snapshot& snapshot, const Profile& profile, Margins& margins) {
  const auto& limit = profile.gpu->clocks.slowed_fail_above;
  for (const Gpu* gpu : gpu::answering(snapshot)) {
    const auto [heat, brake] = slow_times_of(snapshot, *gpu);
    if (heat) margins.at_most(gpu::name_of(*gpu), "heat", heat->part * 100, limit);
    if (brake) margins.at_most(gpu::name_of(*gpu), "power_brake", brake->part * 100, limit);
  }
}

// gpu.temperature: GPU and memory are cool, with a margin to the point where the GPU slows down.

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
  const auto finding = [&](Outcome outcome, double limit, std::string_view expected) {
    return hot(snapshot, gpu, outcome,
               fmt::format("{} at {} C, expected {} {} C", what, celsius, expected, limit), celsius,
               limit);
  };
  if (fail_above && celsius > fail_above->value) {
    return finding(Outcome::fail, fail_above->value, "at most");
  }
  if (!fail_above && allowed && celsius >= *allowed) {
    return finding(Outcome::fail, *allowed, "less than the GPU's own limit of");
  }
  if (warn_above && celsius > warn_above->value) {
    return finding(Outcome::warn, warn_above->value, "at most");
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

// The worst known state of GPU, memory and slowdown; the first of equals. A part that is too hot
// fails, even if other temperatures are unknown.
std::optional<Finding> judge_temperature_of(const Snapshot& snapshot, const Gpu& gpu,
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
  if (worst && worst->outcome == Outcome::fail) return worst;
  if (!heat.gpu_c) return gpu::not_reported(gpu, "the temperature", heat.gpu_c);
  if (heat.memory_c.is_unreadable()) {
    return gpu::not_reported(gpu, "the temperature of the memory", heat.memory_c);
  }
  if (heat.margin_c.is_unreadable()) {
    return gpu::not_reported(gpu, "the margin to the slowdown", heat.margin_c);
  }
  if (heat.memory_c && !limits.memory_fail_above && heat.memory_max_c.is_unreadable()) {
    return gpu::not_reported(gpu, "the highest temperature of the memory", heat.memory_max_c);
  }
  return worst;
}

Findings judge_temperature(const Snapshot& snapshot, const Profile& profile) {
  const auto& limits = profile.gpu->temperature;
  return gpu::each(
      snapshot, [&](const Gpu& gpu) { return judge_temperature_of(snapshot, gpu, limits); },
      "within temperature limits");
}

void margins_of_temperature(const Snapshot& snapshot, const Profile& profile, Margins& margins) {
  const auto& limits = profile.gpu->temperature;
  for (const Gpu* gpu : gpu::answering(snapshot)) {
    const auto name = gpu::name_of(*gpu);
    const auto& heat = gpu->heat;
    if (heat.gpu_c) {
      margins.at_most(name, "gpu", *heat.gpu_c, limits.warn_above);
      margins.at_most(name, "gpu", *heat.gpu_c, limits.fail_above);
    }
    if (heat.memory_c) {
      margins.at_most(name, "memory", *heat.memory_c, limits.memory_warn_above);
      margins.at_most(name, "memory", *heat.memory_c, limits.memory_fail_above);
      if (!limits.memory_fail_above) {
        margins.at_most(name, "memory", *heat.memory_c, heat.memory_max_c);
      }
    }
    if (heat.margin_c) margins.at_least(name, "slowdown", *heat.margin_c, limits.warn_margin_below);
  }
}

// gpu.power: the power limit is the expected one.

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

// Without an expected limit, a GPU whose default differs from that of its peers is another board or
// has another VBIOS.
Findings judge_power(const Snapshot& snapshot, const Profile& profile) {
  constexpr double kRounding = 1;
  const auto in_watts = [](std::uint64_t milliwatts) {
    return static_cast<double>(milliwatts) / 1000;
  };
  const auto& limit = profile.gpu->power.limit;
  const bool set_for_all = is_set_for_all(gpu::answering(snapshot));
  const auto judge_one = [&](const Gpu& gpu) -> std::optional<Finding> {
    const auto& power = gpu.power;
    if (!power.enforced_mw) return gpu::not_reported(gpu, "the power limit", power.enforced_mw);
    if (!limit && !power.default_mw) {
      return gpu::not_reported(gpu, "the default power limit", power.default_mw);
    }
    const double enforced = in_watts(*power.enforced_mw);
    const double expected = limit ? limit->value : in_watts(*power.default_mw);
    if (std::abs(enforced - expected) <= kRounding || (!limit && set_for_all)) return std::nullopt;
    return gpu::warned(gpu,
                       fmt::format("power limit is {:.0f} W, expected {}{:.0f} W", enforced,
                                   limit ? "" : "the default of ", expected),
                       Remedy::fix_config, {enforced, expected, "W"});
  };
  auto findings = gpu::each(snapshot, judge_one, "at the expected power limit");
  if (limit) return findings;
  const auto default_watts = [&](const Gpu& gpu) {
    const auto& milliwatts = gpu.power.default_mw;
    return milliwatts ? std::optional(in_watts(*milliwatts)) : std::nullopt;
  };
  append(findings,
         gpu::peers_by_model(snapshot, default_watts)
             .differences({.what = "default power limit", .devices = "GPUs like it"}, " W",
                          {.outcome = Outcome::warn, .remedy = hardware_remedy(snapshot)}));
  return findings;
}

}  // namespace

constinit const Check gpu_clocks::check = gpu::check_of_gpus({
    .id = "gpu.clocks",
    .title = "Neither heat, power nor a setting limits the clocks",
    .why =
        "A slowed GPU silently holds back every job it is part of. The driver reports why clocks "
        "are low, and for how long the hardware limited them. A slowdown by the hardware, for heat "
        "or by the power brake of the power supply, fails if it took more than a share of the last "
        "hour (gpu.clocks.slowed_fail_above), or of the time since boot without an earlier run. If "
        "the driver reports no times, it fails if a run at least five minutes ago saw it as well. "
        "A short slowdown, which busy GPUs have, and the driver's own slowdown for heat warn. An "
        "idle GPU, a power limit reached under load and synchronised boost are normal. Application "
        "clocks stay until they are reset: they are compared with the profile or the GPU's "
        "default, and the maximum clocks of equal GPUs with each other.",
    .fix =
        "Heat: look at fans, air flow and coolant. Power brake: look at the power supplies, and if "
        "all GPUs are affected at the power of the node or its rack. In a virtual machine, report "
        "either to the provider. Locked clocks: nvidia-smi --reset-applications-clocks.",
    .judge = judge_clocks,
    .margins = margins_of_clocks,
});

constinit const Check gpu_temperature::check = gpu::check_of_gpus({
    .id = "gpu.temperature",
    .title = "GPUs and their memory are cool enough",
    .why =
        "A hot GPU slows down and holds back every job it is part of. The temperature is compared "
        "with the profile's limits, and with the GPU's own if NVML reports them: where it begins "
        "to slow down, and the maximum for its memory. Memory runs hotter than the GPU: above 90 C "
        "under load is normal.",
    .fix = "Look at fans, air flow and the temperature of the room or of the coolant. In a virtual "
           "machine, report it to the provider.",
    .code = "NHC2017",
    .judge = judge_temperature,
    .margins = margins_of_temperature,
});

constinit const Check gpu_power::check = gpu::check_of_gpus({
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
    .judge = judge_power,
});

}  // namespace muster::checks
