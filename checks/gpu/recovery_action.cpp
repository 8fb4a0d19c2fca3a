// SPDX-License-Identifier: Apache-2.0
// gpu.recovery_action: the driver asks for no recovery of a GPU.
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "checks/catalogue.hpp"
#include "checks/shared/gpus.hpp"

namespace muster::checks::gpu_recovery_action {
namespace {

constexpr std::string_view kReset = "Resource.Hpc.Reset";

constexpr unsigned kStopPeers = 3;  // the GPU works; programs that use its peers must end

struct Action {
  std::string_view words;
  Remedy remedy;
  std::string_view category{};  // Azure's, if it has one
};

// By NVML's number.
constexpr std::array<Action, 8> kActions{{
    {"none", Remedy::none},
    {"reset the GPU", Remedy::reset_gpu, kReset},
    {"reboot the node", Remedy::reboot, "Resource.Hpc.Reboot"},
    {"stop its peer-to-peer traffic", Remedy::watch},
    {"drain and reset the GPU", Remedy::reset_gpu, kReset},
    {"recover the IMEX domain", Remedy::restart_service},
    {"reset the bus", Remedy::reboot},
    {"reboot the system", Remedy::reboot},
}};
constexpr Action kUnknownAction{"unknown action", Remedy::reboot};

std::optional<Finding> judge_one(const Snapshot& snapshot, const Gpu& gpu) {
  if (!gpu.troubles.empty()) {
    Finding finding =
        gpu::failed(gpu, fmt::format("NVML reports {}", fmt::join(gpu.troubles, "; ")),
                    gpu::reset_remedy(snapshot));
    if (std::ranges::all_of(gpu.troubles, [](const std::string& trouble) {
          return gpu::has_nvml_code(trouble, gpu::NvmlCode::corrupt_inforom);
        })) {
      finding.seen_by = {{.check = "gpu.firmware", .device = finding.device}};
    }
    return finding;
  }
  if (!gpu.recovery_action)
    return gpu::not_reported(gpu, "the recovery action", gpu.recovery_action);
  const unsigned number = *gpu.recovery_action;
  if (number == 0) return std::nullopt;
  const auto& [words, remedy, category] =
      number < kActions.size() ? kActions.at(number) : kUnknownAction;
  Finding finding =
      gpu::about(gpu, number == kStopPeers ? Outcome::warn : Outcome::fail,
                 fmt::format("the driver asks for recovery: {} ({})", words, number),
                 remedy == Remedy::reset_gpu ? gpu::reset_remedy(snapshot) : remedy, {number, 0});
  finding.category = category;
  if (finding.outcome == Outcome::warn) return finding;
  // The request is the driver's reaction, not a second fault.
  for (const auto* check : {"gpu.ecc_uncorrectable", "gpu.ecc_sram", "gpu.ecc_remapped_rows",
                            "gpu.ecc_retired_pages", "gpu.xid", "gpu.nvlink_state", "gpu.fabric"}) {
    finding.seen_by.push_back({.check = check, .device = finding.device});
  }
  return finding;
}

Findings judge(const Snapshot& snapshot, const Profile& /*profile*/) {
  return gpu::each(
      snapshot, [&](const Gpu& gpu) { return judge_one(snapshot, gpu); }, "that need no recovery");
}

}  // namespace

constinit const Check check{
    .id = "gpu.recovery_action",
    .title = "The driver asks for no recovery of a GPU",
    .why =
        "From driver 570 on, NVML reports what a GPU needs after a fault: nothing, a reset, a "
        "reboot, or to be drained first. Errors such as \"GPU requires reset\" from any other call "
        "count as well.",
    .fix = "Drain the node and do what the driver asks for.",
    .needs = Probe::nvml | Probe::identity,
    .not_here = gpu::none_to_judge,
    .judge = judge,
};

}  // namespace muster::checks::gpu_recovery_action
