// SPDX-License-Identifier: Apache-2.0
// What the checks gpu.* share: which GPUs can be judged at all, and how a finding speaks of one.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "checks/shared/support.hpp"

namespace muster::checks::gpu {

// "gpu3".
[[nodiscard]] inline std::string name_of(const Gpu& gpu) { return fmt::format("gpu{}", gpu.index); }

// How many GPUs that NVML can tell about the profile expects; 0: none.
[[nodiscard]] std::size_t expected_count(const Profile& profile);

[[nodiscard]] inline bool expected(const Profile& profile) { return expected_count(profile) > 0; }

[[nodiscard]] inline bool answers(const Gpu& gpu) { return gpu.lost.empty() && gpu.stuck.empty(); }

// The GPUs that answer: one that is lost or hangs is gpu.present's finding and nobody else's.
[[nodiscard]] inline std::vector<const Gpu*> answering(const Snapshot& snapshot) {
  std::vector<const Gpu*> gpus;
  for (const auto& gpu : snapshot.nvml->gpus) {
    if (answers(gpu)) gpus.push_back(&gpu);
  }
  return gpus;
}

// Why no GPU can be judged here; nothing when some can. A driver that should be there and is not is
// gpu.driver's finding, a GPU that is missing gpu.present's: each once.
[[nodiscard]] std::optional<Finding> none_to_judge(const Snapshot& snapshot,
                                                   const Profile& profile);

// "gpu3", with how to find the board: "(serial 1650923012345)".
[[nodiscard]] inline Finding about(const Gpu& gpu, Outcome outcome, std::string message,
                                   Remedy remedy = Remedy::none, Values values = {}) {
  if (gpu.serial) message = fmt::format("{} (serial {})", message, *gpu.serial);
  return checks::about(name_of(gpu), outcome, std::move(message), remedy, std::move(values));
}

[[nodiscard]] inline Finding failed(const Gpu& gpu, std::string message, Remedy remedy,
                                    Values values = {}) {
  return about(gpu, Outcome::fail, std::move(message), remedy, std::move(values));
}

[[nodiscard]] inline Finding warned(const Gpu& gpu, std::string message, Remedy remedy,
                                    Values values = {}) {
  return about(gpu, Outcome::warn, std::move(message), remedy, std::move(values));
}

// Judges each GPU by itself. `judge_one` gives nothing where all is well; what was well is summed
// up in one pass.
[[nodiscard]] inline Findings each(
    const std::vector<const Gpu*>& gpus,
    const std::function<std::optional<Finding>(const Gpu&)>& judge_one, std::string_view all_well) {
  Findings findings;
  std::size_t well = 0;
  for (const Gpu* gpu : gpus) {
    auto finding = judge_one(*gpu);
    if (!finding) ++well;
    append(findings, std::move(finding));
  }
  if (well > 0) findings.push_back(passed(fmt::format("{} {}", counted(well, "GPU"), all_well)));
  return findings;
}

[[nodiscard]] inline Findings each(
    const Snapshot& snapshot, const std::function<std::optional<Finding>(const Gpu&)>& judge_one,
    std::string_view all_well) {
  return each(answering(snapshot), judge_one, all_well);
}

// The finding about a fact that a GPU did not tell: unknown where it should have, skip where its
// kind or its driver never does.
template <class T>
[[nodiscard]] Finding not_told(const Gpu& gpu, std::string_view what, const Fact<T>& fact) {
  Finding finding = not_known(name_of(gpu), what, fact);
  if (fact.is_absent()) finding.outcome = Outcome::skip;
  return finding;
}

// A finding that a fact of the memory is not told. A GPU that does not offer what others of its
// model tell should have told it, unless it has no ECC or is divided by MIG. `fact_of` gives the
// fact of any GPU.
template <class FactOf>
[[nodiscard]] Finding not_told_beside(const Snapshot& snapshot, const Gpu& gpu,
                                      std::string_view what, const FactOf& fact_of) {
  Finding finding = not_told(gpu, what, fact_of(gpu));
  const bool offers_less = !gpu.modes.ecc.value_or(true) || gpu.modes.mig.value_or(false);
  if (finding.outcome != Outcome::skip || !gpu.model || offers_less) return finding;
  const auto gpus = answering(snapshot);
  const auto telling = std::ranges::count_if(gpus, [&](const Gpu* other) {
    return other->model && *other->model == *gpu.model && fact_of(*other).known();
  });
  if (telling == 0) return finding;
  finding.outcome = Outcome::unknown;
  finding.message += fmt::format("; {} of the same model {} it",
                                 counted(static_cast<std::uint64_t>(telling), "GPU"),
                                 telling == 1 ? "tells" : "tell");
  return finding;
}

// The finding about a mode that changes with the next reset only: it is not as expected, will not
// be so then, or is not known. Nothing where all is well.
[[nodiscard]] inline std::optional<Finding> judge_mode(const Gpu& gpu, std::string_view mode,
                                                       const Fact<bool>& now,
                                                       const Fact<bool>& pending, bool expected) {
  if (!now) return not_told(gpu, fmt::format("the {} mode", mode), now);
  const auto word = [](bool on) { return on ? "on" : "off"; };
  std::string message;
  if (*now != expected) {
    message = fmt::format("{} is {}, expected {}", mode, word(*now), word(expected));
  } else if (pending.value_or(expected) != expected) {
    message = fmt::format("{} is {} and will be {} after the next reset", mode, word(expected),
                          word(!expected));
  } else {
    return std::nullopt;
  }
  return failed(gpu, std::move(message), Remedy::fix_config, {!expected, expected});
}

// NVML's return code stands behind its word: "nvmlDeviceGetNvLinkState: Not Supported (3)".
enum class NvmlCode { not_supported = 3, corrupt_inforom = 14 };

[[nodiscard]] inline bool says(std::string_view text, NvmlCode code) {
  return text.ends_with(fmt::format("({})", static_cast<int>(code)));
}

// A reset, or a reboot where a virtual machine may not reset its GPUs.
[[nodiscard]] inline Remedy reset_remedy(const Snapshot& snapshot) {
  return snapshot.identity->hypervisor ? Remedy::reboot : Remedy::reset_gpu;
}

}  // namespace muster::checks::gpu
