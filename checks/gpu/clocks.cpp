// SPDX-License-Identifier: Apache-2.0
// gpu.clocks: nothing but the load holds the clocks of a GPU down, and nobody left them locked.
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <utility>

#include "checks/catalogue.hpp"
#include "checks/shared/gpus.hpp"
#include "lib/profile/limits/gpu.hpp"

namespace muster::checks {
namespace {

using Reasons = std::uint64_t;

// Bits of NVML's mask. Not judged: 0x1 idle, 0x2 application clocks (whose value is), 0x4 software
// power cap (normal under load), 0x10 sync boost, 0x100 display.
constexpr Reasons kHardware = 0x8;  // set with each of the two below, or by a fast trigger alone
constexpr Reasons kSoftwareThermal = 0x20;
constexpr Reasons kHardwareThermal = 0x40;
constexpr Reasons kPowerBrake = 0x80;
constexpr Reasons kKnown = 0x1ff;

constexpr std::string_view kThermalCode = "NHC2017";

// What the hardware does to the clocks; empty where it does nothing.
std::string hardware_words(Reasons reasons) {
  std::vector<std::string_view> words;
  if ((reasons & kHardwareThermal) != 0) words.emplace_back("hardware thermal slowdown");
  if ((reasons & kPowerBrake) != 0) words.emplace_back("hardware power brake");
  if (words.empty() && (reasons & kHardware) != 0) words.emplace_back("hardware slowdown");
  return fmt::format("{}", fmt::join(words, " and "));
}

// "345 of 1980 MHz"; empty where NVML does not tell.
std::string clock_now(const GpuClocks& clocks) {
  if (!clocks.sm_mhz || !clocks.sm_max_mhz) return {};
  return fmt::format(", now at {} of {} MHz", *clocks.sm_mhz, *clocks.sm_max_mhz);
}

Finding held_down(const Gpu& gpu, Outcome outcome, const std::string& words) {
  Finding finding = gpu::about(
      gpu, outcome, fmt::format("the clocks are held down by {}{}", words, clock_now(gpu.clocks)));
  finding.observed = words;
  finding.limit = std::string("none");
  return finding;
}

// gpu.temperature goes by the same heat.
Finding too_hot(Finding finding) {
  finding.code = kThermalCode;
  finding.seen_by = {{.check = "gpu.temperature", .device = finding.device}};
  return finding;
}

std::optional<Finding> judge_reasons(const Snapshot& snapshot, const Gpu& gpu, Reasons reasons) {
  if (const auto words = hardware_words(reasons); !words.empty()) {
    Finding finding = held_down(gpu, Outcome::fail, words);
    finding.remedy = hardware_remedy(snapshot);
    return (reasons & kHardwareThermal) != 0 ? too_hot(std::move(finding)) : finding;
  }
  if (const Reasons unknown = reasons & ~kKnown; unknown != 0) {
    Finding finding = gpu::about(gpu,
                                 Outcome::warn,
                                 fmt::format("the clocks are held down for a reason that this "
                                             "muster does not know (bits {:#x}){}",
                                             unknown,
                                             clock_now(gpu.clocks)));
    finding.observed = count_value(unknown);
    finding.remedy = Remedy::watch;
    return finding;
  }
  if ((reasons & kSoftwareThermal) == 0) return std::nullopt;
  Finding finding = held_down(gpu, Outcome::warn, "software thermal slowdown");
  finding.remedy = Remedy::watch;
  return too_hot(std::move(finding));
}

std::optional<Finding> judge_locked(const Gpu& gpu, const Limit<Hertz>& limit) {
  constexpr double kMega = 1e6;
  const auto& application = gpu.clocks.application_sm_mhz;
  const auto& by_default = gpu.clocks.default_sm_mhz;
  if (application.is_unreadable()) {
    return gpu::not_told(gpu, "the clock for applications", application);
  }
  if (!limit && by_default.is_unreadable()) {
    return gpu::not_told(gpu, "the default clock for applications", by_default);
  }
  // Newer drivers do without these clocks.
  if (!application || (!limit && !by_default)) return std::nullopt;
  const double expected = limit ? limit->value / kMega : *by_default;
  if (std::abs(*application - expected) < 1) return std::nullopt;
  Finding finding =
      gpu::about(gpu,
                 Outcome::warn,
                 fmt::format("the clocks are locked: {} MHz for applications, {} {:g} "
                             "MHz",
                             *application,
                             limit ? "expected" : "by default it is",
                             expected));
  finding.observed = static_cast<double>(*application);
  finding.limit = expected;
  finding.unit = "MHz";
  finding.remedy = Remedy::fix_config;
  return finding;
}

std::optional<Finding> judge_one(const Snapshot& snapshot,
                                 const Gpu& gpu,
                                 const Limit<Hertz>& application,
                                 Reasons said_already) {
  const auto& reasons = gpu.clocks.reasons;
  if (reasons.is_unreadable()) return gpu::not_told(gpu, "what holds the clocks down", reasons);
  auto held = judge_reasons(snapshot, gpu, reasons.value_or(0) & ~said_already);
  if (held && held->outcome != Outcome::warn) return held;
  auto locked = judge_locked(gpu, application);
  if (held || locked) return held ? held : locked;
  if (reasons.is_absent()) return gpu::not_told(gpu, "what holds the clocks down", reasons);
  return std::nullopt;
}

// The power brake of all GPUs at once is no fault of any of them: power is short for the node.
bool all_braked(const std::vector<const Gpu*>& gpus) {
  return gpus.size() > 1 && std::ranges::all_of(gpus, [](const Gpu* each) {
           const Reasons reasons = each->clocks.reasons.value_or(0);
           return (reasons & kPowerBrake) != 0 && (reasons & kHardwareThermal) == 0;
         });
}

Finding short_of_power(const Snapshot& snapshot, std::size_t gpus) {
  return {.device = std::string(kNode),
          .outcome = Outcome::fail,
          .message = fmt::format("the clocks of all {} GPUs are held down by the hardware power "
                                 "brake: the node's power supply or its power shelf",
                                 gpus),
          .observed = std::string("hardware power brake"),
          .limit = std::string("none"),
          .remedy = hardware_remedy(snapshot)};
}

Findings judge(const Snapshot& snapshot, const Profile& profile) {
  const auto gpus = gpu::answering(snapshot);
  Findings findings;
  Reasons said_already = 0;
  if (all_braked(gpus)) {
    findings.push_back(short_of_power(snapshot, gpus.size()));
    said_already = kPowerBrake | kHardware;
  }
  auto more = gpu::each(
      snapshot,
      [&](const Gpu& gpu) {
        return judge_one(snapshot, gpu, profile.gpu->clocks.application_sm, said_already);
      },
      "with free clocks");
  if (!findings.empty()) {
    std::erase_if(more, [](const Finding& each) { return each.outcome == Outcome::pass; });
  }
  std::ranges::move(more, std::back_inserter(findings));
  return findings;
}

}  // namespace

constinit const Check gpu_clocks{
    .id = "gpu.clocks",
    .title = "Neither heat, power nor a setting holds the clocks down",
    .why =
        "A GPU that is slowed down holds back every job that it takes part in, and no error says "
        "so. The driver tells why clocks are low. The hardware's own slowdown, for heat or for the "
        "power brake of the power supply, is a fault; the driver's slowdown for heat is a warning. "
        "An idle GPU, a power limit that is reached under load and a synchronised boost are "
        "normal. Application clocks that somebody set stay until they are reset: they are "
        "compared with the profile, or with the GPU's own default.",
    .fix =
        "Heat: look at fans, air flow and coolant. Power brake: look at the power supplies; on all "
        "GPUs of a node at once it is the node's power or its rack's. In a virtual machine report "
        "either to the provider. Locked clocks: nvidia-smi --reset-applications-clocks.",
    .needs = Probe::nvml | Probe::identity,
    .not_here = gpu::none_to_judge,
    .judge = judge,
};

}  // namespace muster::checks
