// SPDX-License-Identifier: Apache-2.0
// gpu.ecc_remapped_rows: since Ampere a GPU replaces bad rows of its memory by spare ones. Four
// states: failed, pending, a bank without spares, many rows remapped.
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "checks/catalogue.hpp"
#include "checks/shared/gpus.hpp"
#include "lib/profile/limits/gpu.hpp"

namespace muster::checks::gpu_ecc_remapped_rows {
namespace {

bool hidden_by_mig(const Gpu& gpu) {
  return gpu.remapped_rows.is_absent() && gpu.modes.mig.value_or(false);
}

Finding untold(const Snapshot& snapshot, const Gpu& gpu) {
  if (hidden_by_mig(gpu)) {
    return unknown(gpu::name_of(gpu),
                   "remapped rows are not known: the driver does not tell while MIG is on");
  }
  return gpu::not_told_beside(
      snapshot, gpu, "the state of remapped rows",
      [](const Gpu& each) -> const auto& { return each.remapped_rows; });
}

// The worst of the four states.
std::optional<Finding> judge_one(const Snapshot& snapshot, const Gpu& gpu,
                                 const GpuRemappedRowsLimits& limits) {
  if (!gpu.remapped_rows) return untold(snapshot, gpu);
  const auto& rows = *gpu.remapped_rows;
  const auto fault = [&](std::string message, Remedy remedy) {
    return gpu::failed(gpu, std::move(message), remedy, {true, false});
  };
  if (rows.failed) {
    return fault("row remapping failed: no spare row was left for a bad one",
                 hardware_remedy(snapshot));
  }
  if (rows.pending) {
    return fault("a bad row waits for a reset to be remapped", gpu::reset_remedy(snapshot));
  }
  if (gpu.repairs && (gpu.repairs->channel_pending || gpu.repairs->tpc_pending)) {
    return fault("a repair waits for a reset", gpu::reset_remedy(snapshot));
  }
  const auto remapped = rows.corrected + rows.uncorrected;
  const auto warning = [&](std::string message, Value limit) {
    return gpu::warned(gpu, std::move(message), Remedy::watch,
                       {count_value(remapped), std::move(limit), "rows"});
  };
  if (gpu.spare_rows && gpu.spare_rows->none > 0) {
    return warning(
        fmt::format("{} of memory without a spare row left: the next bad row there cannot be "
                    "remapped",
                    counted(gpu.spare_rows->none, "bank")),
        {});
  }
  if (limits.watch_above && remapped > static_cast<std::uint64_t>(*limits.watch_above)) {
    return warning(fmt::format("{} of memory remapped, more than {}", counted(remapped, "row"),
                               *limits.watch_above),
                   *limits.watch_above);
  }
  return std::nullopt;
}

Findings judge(const Snapshot& snapshot, const Profile& profile) {
  auto gpus = gpu::answering(snapshot);
  // On a node that is meant to be divided, that the driver does not tell is nobody's fault.
  std::size_t hidden = 0;
  if (profile.gpu->mig.expected && *profile.gpu->mig.expected) {
    hidden = std::erase_if(gpus, [](const Gpu* gpu) { return hidden_by_mig(*gpu); });
  }
  Findings findings = gpu::each(
      gpus,
      [&](const Gpu& gpu) { return judge_one(snapshot, gpu, profile.gpu->ecc_remapped_rows); },
      "with sound memory rows");
  if (hidden > 0) {
    findings.push_back(
        skipped(fmt::format("the driver does not tell of remapped rows of {} while MIG is on",
                            counted(hidden, "GPU"))));
  }
  return findings;
}

}  // namespace

constinit const Check check{
    .id = "gpu.ecc_remapped_rows",
    .title = "Bad rows of memory are remapped, and spare ones are left",
    .why =
        "From Ampere on, a GPU that finds a bad row in its memory uses a spare row in its "
        "place, from the next reset on. Four states matter. Failed: there was no spare "
        "row, or the remapped row was bad again; NVIDIA replaces such a GPU. Pending: the "
        "bad row is known, kept out of use, and waits for a reset, which NVIDIA's driver calls "
        "for itself from 570 on. A bank without spare "
        "rows: nothing is wrong yet, and the next bad row in it will fail. Many remapped "
        "rows: most nodes with more than ten of them come back with memory errors.",
    .fix =
        "Failed: run the field diagnostic and replace the GPU, or report its serial number to the "
        "provider. Pending: drain the node and reset the GPU or reboot; no part needs replacing. "
        "No spares or many rows: keep the node in service and watch it.",
    .code = "NHC2007",
    .needs = Probe::nvml | Probe::identity,
    .not_here = gpu::none_to_judge,
    .judge = judge,
};

}  // namespace muster::checks::gpu_ecc_remapped_rows
