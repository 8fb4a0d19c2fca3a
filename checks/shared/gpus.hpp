// SPDX-License-Identifier: Apache-2.0
// Shared by the checks gpu.*: which GPUs can be judged, and findings about one GPU.
#pragma once

#include <functional>

#include "checks/shared/peers.hpp"

namespace muster::checks::gpu {

// "gpu3".
[[nodiscard]] inline std::string name_of(const Gpu& gpu) { return fmt::format("gpu{}", gpu.index); }

// How many GPUs visible to NVML the profile expects.
[[nodiscard]] std::size_t expected_count(const Profile& profile);

[[nodiscard]] inline bool expected(const Profile& profile) { return expected_count(profile) > 0; }

// True if muster sees all GPUs of the node: it is not in a container, and does not run inside a
// job, whose cgroup may hide some, as it may in the context manual.
[[nodiscard]] bool sees_all(const Snapshot& snapshot, const Context& context);

// True if the driver is bound to any GPU on the PCI bus.
[[nodiscard]] bool driver_is_bound(const Snapshot& snapshot);

[[nodiscard]] inline bool answers(const Gpu& gpu) { return gpu.lost.empty() && gpu.stuck.empty(); }

// Only gpu.present reports GPUs that are lost or hang.
[[nodiscard]] inline std::vector<const Gpu*> answering(const Snapshot& snapshot) {
  std::vector<const Gpu*> gpus;
  for (const auto& gpu : snapshot.nvml->gpus) {
    if (answers(gpu)) gpus.push_back(&gpu);
  }
  return gpus;
}

// Explains why no GPU can be judged; empty if some can. Only gpu.driver reports a missing driver,
// and only gpu.present a missing GPU.
[[nodiscard]] std::optional<Finding> none_to_judge(const Snapshot& snapshot,
                                                   const Profile& profile);

// Fills in what the checks of NVIDIA's GPUs share.
[[nodiscard]] constexpr Check check_of_gpus(Check check) {
  check.needs = check.needs | Probe::nvml | Probe::identity;
  if (check.not_applicable == nullptr) check.not_applicable = none_to_judge;
  return check;
}

// Appends the serial number of the board: "(serial 1650923012345)".
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

// Judges each GPU on its own. `judge_one` returns nothing for a healthy GPU; all healthy ones share
// one pass.
[[nodiscard]] inline Findings each(
    const std::vector<const Gpu*>& gpus,
    const std::function<std::optional<Finding>(const Gpu&)>& judge_one,
    std::string_view healthy_text) {
  Findings findings;
  std::size_t healthy = 0;
  for (const Gpu* gpu : gpus) {
    auto finding = judge_one(*gpu);
    if (!finding) ++healthy;
    append(findings, std::move(finding));
  }
  if (healthy > 0)
    findings.push_back(passed(fmt::format("{} {}", counted(healthy, "GPU"), healthy_text)));
  return findings;
}

[[nodiscard]] inline Findings each(
    const Snapshot& snapshot, const std::function<std::optional<Finding>(const Gpu&)>& judge_one,
    std::string_view healthy_text) {
  return each(answering(snapshot), judge_one, healthy_text);
}

// For a fact that is missing: unknown if reading it failed, skip if this kind of GPU or its driver
// never reports it.
template <class T>
[[nodiscard]] Finding not_reported(const Gpu& gpu, std::string_view what, const Fact<T>& fact) {
  Finding finding = not_known(name_of(gpu), what, fact);
  if (fact.is_absent()) finding.outcome = Outcome::skip;
  return finding;
}

// The same for a fact about memory. A GPU that lacks a fact which others of its model report is
// unknown, unless its ECC is off or MIG is on. `fact_of` returns the fact of any GPU.
template <class FactOf>
[[nodiscard]] Finding not_reported_unlike_peers(const Snapshot& snapshot, const Gpu& gpu,
                                                std::string_view what, const FactOf& fact_of) {
  Finding finding = not_reported(gpu, what, fact_of(gpu));
  const bool may_report_less = !gpu.modes.ecc.value_or(true) || gpu.modes.mig.value_or(false);
  if (finding.outcome != Outcome::skip || !gpu.model || may_report_less) return finding;
  const auto gpus = answering(snapshot);
  const auto reporting = std::ranges::count_if(gpus, [&](const Gpu* other) {
    return other->model && *other->model == *gpu.model && fact_of(*other).known();
  });
  if (reporting == 0) return finding;
  finding.outcome = Outcome::unknown;
  finding.message += fmt::format("; {} of the same model {} it",
                                 counted(static_cast<std::uint64_t>(reporting), "GPU"),
                                 reporting == 1 ? "reports" : "report");
  return finding;
}

// A number of each GPU, by model. `number_of` returns an optional number, or a fact.
template <class NumberOf>
[[nodiscard]] Peers peers_by_model(const Snapshot& snapshot, const NumberOf& number_of) {
  Peers peers;
  for (const Gpu* each : answering(snapshot)) {
    const auto number = number_of(*each);
    if (!each->model || !number) continue;
    peers.add(*each->model, name_of(*each), static_cast<double>(*number));
  }
  return peers;
}

// True if a GPU has the expected memory, or if none is expected.
[[nodiscard]] bool has_expected_memory(const Profile& profile, std::uint64_t bytes);

// NVML errors end with the code: "nvmlDeviceGetNvLinkState: Not Supported (3)".
enum class NvmlCode { not_supported = 3, corrupt_inforom = 14 };

[[nodiscard]] inline bool has_nvml_code(std::string_view text, NvmlCode code) {
  return text.ends_with(fmt::format("({})", static_cast<int>(code)));
}

// A reboot in virtual machines, which may not reset their GPUs.
[[nodiscard]] inline Remedy reset_remedy(const Snapshot& snapshot) {
  return snapshot.identity->hypervisor ? Remedy::reboot : Remedy::reset_gpu;
}

}  // namespace muster::checks::gpu
