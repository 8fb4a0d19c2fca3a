// SPDX-License-Identifier: Apache-2.0
// gpu.ecc_uncorrectable: no uncorrected memory error since the driver was loaded.
#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include "checks/catalogue.hpp"
#include "checks/shared/gpus.hpp"
#include "checks/xid/meaning.hpp"
#include "lib/profile/limits/gpu.hpp"

namespace muster::checks::gpu_ecc_uncorrectable {
namespace {

// Nothing where every count that this GPU has is known.
std::optional<Finding> uncounted(const Snapshot& snapshot, const Gpu& gpu) {
  constexpr std::string_view kWhat = "the count of uncorrected errors";
  const auto& dram = gpu.ecc_volatile.dram_uncorrected;
  const auto& sram = gpu.ecc_volatile.sram_uncorrected;
  for (const auto* fact : {&dram, &sram}) {
    if (fact->is_unreadable()) return gpu::not_told(gpu, kWhat, *fact);
  }
  if (dram || sram) return std::nullopt;
  return gpu::not_told_beside(
      snapshot, gpu, kWhat, [](const Gpu& each) -> const auto& {
        const auto& told = each.ecc_volatile;
        return told.dram_uncorrected.is_absent() ? told.sram_uncorrected : told.dram_uncorrected;
      });
}

// The largest number stands for anything above it.
std::uint64_t sum(std::uint64_t left, std::uint64_t right) {
  constexpr auto kMost = std::numeric_limits<std::uint64_t>::max();
  return left > kMost - right ? kMost : left + right;
}

// Who tells what became of these errors: a repair that waits or failed, of the same memory.
void add_witnesses(const Gpu& gpu, Finding& finding) {
  const auto leave_to = [&](std::string_view check) {
    finding.seen_by.push_back({.check = std::string(check), .device = finding.device});
  };
  const bool in_sram = gpu.ecc_volatile.sram_uncorrected.value_or(0) > 0;
  const bool in_dram = gpu.ecc_volatile.dram_uncorrected.value_or(0) > 0;
  if (in_dram || (gpu.repairs && gpu.repairs->tpc_pending)) leave_to("gpu.ecc_remapped_rows");
  if (in_dram) leave_to("gpu.ecc_retired_pages");
  if (in_sram) leave_to("gpu.ecc_sram");
}

// Azure's code for what the kernel log says of the same errors: whether they were contained. Empty
// where it says nothing.
std::string code_in_log(const Snapshot& snapshot, const XidLimits& limits, const Gpu& gpu) {
  constexpr std::array kUncontainedFirst{95U, 94U, 48U};
  const auto& log = snapshot.xids.believed(limits.of_programs);
  const xid::XidRules rules(limits);
  for (const auto code : kUncontainedFirst) {
    const auto event = std::ranges::find_if(log.events, [&](const XidEvent& each) {
      return each.code == code && !each.nvswitch && each.address == gpu.address &&
             each.last_us >= log.loaded_us();
    });
    if (event == log.events.end()) continue;
    const auto* rule = rules.meaning_of(*event).rule;
    return rule == nullptr ? "" : rule->code;
  }
  return "";
}

std::optional<Finding> judge_one(const Snapshot& snapshot, const Profile& profile, const Gpu& gpu) {
  const auto& dram = gpu.ecc_volatile.dram_uncorrected;
  const auto& sram = gpu.ecc_volatile.sram_uncorrected;
  // One count that is known to be bad is enough.
  if (dram.value_or(0) == 0 && sram.value_or(0) == 0) return uncounted(snapshot, gpu);
  constexpr std::string_view kUnknown = "an unknown number";
  Finding finding =
      gpu::failed(gpu,
                  fmt::format("{} in DRAM and {} in SRAM since the driver was loaded",
                              dram ? counted(*dram, "uncorrected error")
                                   : fmt::format("{} of uncorrected errors", kUnknown),
                              sram ? fmt::to_string(*sram) : std::string(kUnknown)),
                  gpu::reset_remedy(snapshot),
                  {count_value(sum(dram.value_or(0), sram.value_or(0))), 0, "errors"});
  finding.code = code_in_log(snapshot, profile.gpu->xid, gpu);
  add_witnesses(gpu, finding);
  return finding;
}

Findings judge(const Snapshot& snapshot, const Profile& profile) {
  return gpu::each(
      snapshot, [&](const Gpu& gpu) { return judge_one(snapshot, profile, gpu); },
      "without uncorrected memory errors");
}

}  // namespace

constinit const Check check{
    .id = "gpu.ecc_uncorrectable",
    .title = "No uncorrected memory error since the driver was loaded",
    .why =
        "An uncorrected error destroyed data and ended the application that used it. The GPU keeps "
        "the damaged memory in use until it is reset: rows are remapped and pages retired then.",
    .fix =
        "Reset the GPU (nvidia-smi --gpu-reset) or reboot the node, then look at "
        "gpu.ecc_remapped_rows: it says whether the GPU could repair itself.",
    .code = "NHC2019",
    .needs = Probe::nvml | Probe::identity,
    .looks_at = Probe::kernel_log,  // for the fault code
    .not_here = gpu::none_to_judge,
    .judge = judge,
};

}  // namespace muster::checks::gpu_ecc_uncorrectable
