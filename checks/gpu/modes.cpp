// SPDX-License-Identifier: Apache-2.0
// The modes of GPUs that an administrator sets: ECC, persistence, MIG and compute mode.
#include <array>
#include <map>

#include "checks/catalogue.hpp"
#include "checks/shared/gpus.hpp"
#include "checks/shared/peers.hpp"

namespace muster::checks {
namespace {

std::string_view on_or_off(bool on) { return on ? "on" : "off"; }

// Judges a mode that takes effect at the next reset, so the pending mode counts as well.
std::optional<Finding> judge_pending_mode(const Gpu& gpu, std::string_view mode,
                                          const Fact<bool>& now, const Fact<bool>& pending,
                                          bool expected) {
  if (!now) return gpu::not_reported(gpu, fmt::format("the {} mode", mode), now);
  const bool next = pending.value_or(*now);
  if (*now == expected && pending.is_unreadable()) {
    return gpu::not_reported(gpu, fmt::format("the {} mode after the next reset", mode), pending);
  }
  if (*now == expected && next == expected) return std::nullopt;
  const auto state = next == *now
                         ? std::string(on_or_off(*now))
                         : fmt::format("{}, {} after reset", on_or_off(*now), on_or_off(next));
  return gpu::failed(gpu, fmt::format("{} is {}, expected {}", mode, state, on_or_off(expected)),
                     Remedy::fix_config, {*now == expected ? Value(state) : Value(*now), expected});
}

// Without an expectation, a GPU that differs from the others was overlooked or is broken; ECC off
// on all is a choice.
Findings judge_ecc(const Snapshot& snapshot, const Profile& profile) {
  const auto& expected = profile.gpu->ecc_mode.expected;
  if (!expected) {
    auto findings = gpu::peers_by_model(snapshot, [](const Gpu& gpu) { return gpu.modes.ecc; })
                        .differences({.what = "ECC mode", .devices = "GPUs"}, "",
                                     {.outcome = Outcome::warn, .remedy = Remedy::fix_config});
    for (const Gpu* each : gpu::answering(snapshot)) {
      const auto& mode = each->modes.ecc;
      if (mode.is_unreadable()) findings.push_back(gpu::not_reported(*each, "the ECC mode", mode));
    }
    return findings.empty() ? Findings{not_expected("ECC mode")} : findings;
  }
  const auto judge_one = [&](const Gpu& gpu) {
    return judge_pending_mode(gpu, "ECC", gpu.modes.ecc, gpu.modes.ecc_pending, *expected);
  };
  return gpu::each(snapshot, judge_one, fmt::format("with ECC {}", on_or_off(*expected)));
}

Findings judge_mig(const Snapshot& snapshot, const Profile& profile) {
  const auto& expected = profile.gpu->mig.expected;
  if (!expected) return {not_expected("MIG mode")};
  const auto judge_one = [&](const Gpu& gpu) -> std::optional<Finding> {
    const auto& modes = gpu.modes;
    if (modes.mig.is_absent() && !*expected) return std::nullopt;  // a GPU without MIG
    return judge_pending_mode(gpu, "MIG", modes.mig, modes.mig_pending, *expected);
  };
  return gpu::each(snapshot, judge_one, fmt::format("with MIG {}", on_or_off(*expected)));
}

// Without a limit, persistence mode may be off on all GPUs: that is the site's choice.
Findings judge_persistence(const Snapshot& snapshot, const Profile& profile) {
  const bool any_on = std::ranges::any_of(gpu::answering(snapshot), [](const Gpu* each) {
    return each->modes.persistence.value_or(false);
  });
  const bool expected = profile.gpu->persistence.expected.value_or(any_on);
  const auto judge_one = [&](const Gpu& gpu) -> std::optional<Finding> {
    const auto& on = gpu.modes.persistence;
    if (!on) return gpu::not_reported(gpu, "the persistence mode", on);
    if (*on == expected) return std::nullopt;
    return gpu::warned(
        gpu,
        fmt::format("persistence mode is {}, expected {}", on_or_off(*on), on_or_off(expected)),
        Remedy::fix_config, {*on, expected});
  };
  return gpu::each(snapshot, judge_one,
                   fmt::format("with persistence mode {}", on_or_off(expected)));
}

std::string compute_mode_word(unsigned mode) {
  constexpr std::array<std::string_view, 4> kModes{"default", "exclusive_thread", "prohibited",
                                                   "exclusive_process"};
  return mode < kModes.size() ? std::string(kModes.at(mode)) : fmt::format("{} (unknown)", mode);
}

// The most frequent mode; a tie goes to the lowest number, 0 being `default`.
std::string common_compute_mode(const Snapshot& snapshot) {
  std::map<unsigned, std::size_t> counts;
  for (const auto* each : gpu::answering(snapshot)) {
    if (each->modes.compute) ++counts[*each->modes.compute];
  }
  const auto most =
      std::ranges::max_element(counts, {}, [](const auto& each) { return each.second; });
  return most == counts.end() ? "" : compute_mode_word(most->first);
}

Findings judge_compute_mode(const Snapshot& snapshot, const Profile& profile) {
  const auto& limit = profile.gpu->compute_mode.expected;
  const auto expected = limit ? std::string(to_string(*limit)) : common_compute_mode(snapshot);
  const auto judge_one = [&](const Gpu& gpu) -> std::optional<Finding> {
    const auto& mode = gpu.modes.compute;
    if (!mode) return gpu::not_reported(gpu, "the compute mode", mode);
    const std::string seen = compute_mode_word(*mode);
    // No program can use a prohibited GPU, even if all of them are.
    const std::string wanted = !limit && seen == "prohibited" ? "default" : expected;
    if (seen == wanted) return std::nullopt;
    return gpu::failed(gpu, fmt::format("compute mode is {}, expected {}", seen, wanted),
                       Remedy::fix_config, {seen, wanted});
  };
  return gpu::each(snapshot, judge_one, fmt::format("in compute mode {}", expected));
}

}  // namespace

constinit const Check gpu_ecc_mode::check = gpu::check_of_gpus({
    .id = "gpu.ecc_mode",
    .title = "ECC is on, now and after the next reset",
    .why =
        "Without ECC a flipped bit in GPU memory silently becomes a wrong result. A changed mode "
        "takes effect at the next reset, so the pending mode is judged as well. If the profile "
        "does not set gpu.ecc_mode.expected, the GPUs of a node are compared with each other.",
    .fix = "nvidia-smi --ecc-config=1, then reset the GPU or reboot the node.",
    .judge = judge_ecc,
});

constinit const Check gpu_mig::check = gpu::check_of_gpus({
    .id = "gpu.mig",
    .title = "GPUs are partitioned (MIG) as expected",
    .why =
        "A job that needs a whole GPU sees slices, or nothing, if MIG mode was left on. With MIG "
        "on, the driver also hides some facts about memory.",
    .fix = "nvidia-smi --multi-instance-gpu=0 (or 1), then reset the GPU.",
    .judge = judge_mig,
});

constinit const Check gpu_persistence::check = gpu::check_of_gpus({
    .id = "gpu.persistence",
    .title = "The driver keeps the GPUs initialised",
    .why =
        "Without persistence mode the driver tears a GPU down when its last client exits: the next "
        "job waits for it to start, and volatile error counters are lost. Some sites work without "
        "it: if the profile does not set gpu.persistence.expected, all GPUs of a node must be in "
        "the same mode.",
    .fix = "Enable nvidia-persistenced.service, or run nvidia-smi --persistence-mode=1 at boot.",
    .judge = judge_persistence,
});

constinit const Check gpu_compute_mode::check = gpu::check_of_gpus({
    .id = "gpu.compute_mode",
    .title = "GPUs are in the expected compute mode, or all in the same",
    .why =
        "The compute mode limits which processes may use a GPU. In mode default any number may; "
        "exclusive_process refuses the second one, which breaks jobs that start several processes "
        "per GPU, debuggers and monitors; prohibited refuses all. The mode stays until the driver "
        "is reloaded, so a mode set for one job affects the next ones.",
    .fix =
        "nvidia-smi --compute-mode=0 (0 default, 2 prohibited, 3 exclusive_process). To require "
        "one mode on all nodes, set gpu.compute_mode.expected; otherwise the GPUs of a node must "
        "be in the same mode, and not in prohibited.",
    .judge = judge_compute_mode,
});

}  // namespace muster::checks
