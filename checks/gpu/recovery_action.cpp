// SPDX-License-Identifier: Apache-2.0
// gpu.recovery_action: the driver calls for no recovery of a GPU.
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

constexpr unsigned kStopPeers = 3;  // it works on; programs that use its peers are to end

struct Action {
  std::string_view words;
  Remedy remedy;
  std::string_view category{};  // Azure's, where it has one
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
constexpr Action kUnknownAction{"an action that this muster does not know", Remedy::reboot};

std::optional<Finding> judge_one(const Snapshot& snapshot, const Gpu& gpu) {
  if (!gpu.troubles.empty()) {
    Finding finding = gpu::failed(gpu, fmt::format("NVML says {}", fmt::join(gpu.troubles, "; ")),
                                  gpu::reset_remedy(snapshot));
    if (std::ranges::all_of(gpu.troubles, [](const std::string& trouble) {
          return gpu::says(trouble, gpu::NvmlCode::corrupt_inforom);
        })) {
      finding.seen_by = {{.check = "gpu.firmware", .device = finding.device}};
    }
    return finding;
  }
  if (!gpu.recovery_action) return gpu::not_told(gpu, "the recovery action", gpu.recovery_action);
  const unsigned number = *gpu.recovery_action;
  if (number == 0) return std::nullopt;
  const auto& [words, remedy, category] =
      number < kActions.size() ? kActions.at(number) : kUnknownAction;
  Finding finding =
      gpu::about(gpu, number == kStopPeers ? Outcome::warn : Outcome::fail,
                 fmt::format("the driver calls for recovery: {} ({})", words, number),
                 remedy == Remedy::reset_gpu ? gpu::reset_remedy(snapshot) : remedy, {number, 0});
  finding.category = category;
  if (finding.outcome == Outcome::warn) return finding;
  // What the driver answers a fault with is no fault of its own.
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
    .title = "The driver calls for no recovery of a GPU",
    .why =
        "From driver 570 on NVML says itself what a GPU needs after a fault: nothing, a "
        "reset, a reboot, or to be drained first. Answers such as \"GPU requires reset\" "
        "from any other call count too.",
    .fix = "Do what the driver calls for, with the node drained.",
    .needs = Probe::nvml | Probe::identity,
    .not_here = gpu::none_to_judge,
    .judge = judge,
};

}  // namespace muster::checks::gpu_recovery_action
