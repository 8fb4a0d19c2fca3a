// SPDX-License-Identifier: Apache-2.0
// gpu.pcie_replay: how often the PCIe link of a GPU resends packets.
#include <cstdint>
#include <limits>
#include <utility>

#include "checks/catalogue.hpp"
#include "checks/shared/gpus.hpp"
#include "checks/shared/pci_bus.hpp"
#include "checks/shared/rise.hpp"
#include "lib/profile/limits/gpu.hpp"
#include "lib/state/counters.hpp"

namespace muster::checks::gpu_pcie_replay {
namespace {

// An idle GPU slows its link down, but the replays happened while it was busy, so the maximum speed
// counts.
std::optional<double> allowed_by_link(const GpuLink& link) {
  const auto& generation = link.generation_max ? link.generation_max : link.generation;
  const auto& width = link.width ? link.width : link.width_max;
  if (!generation || !width) return std::nullopt;
  const auto speed_gts = pci::speed_of_generation(*generation);
  if (!speed_gts) return std::nullopt;
  return pci::replays_allowed_per_minute(*speed_gts, *width);
}

struct ReplayFindings {
  Findings findings;
  std::size_t judged = 0;  // without a finding
  std::size_t first = 0;   // without an earlier observation
};

Finding too_many(const Gpu& gpu, const Delta& delta, double most) {
  Finding finding = gpu::warned(gpu,
                                fmt::format("{:.1f} PCIe replays per minute in {}, limit {:.1f}",
                                            delta.per_minute(), in_time(delta.seconds), most),
                                Remedy::watch, {delta.per_minute(), most, "per minute"});
  // The kernel counts the damaged packets as well.
  finding.seen_by = {{.check = "pci.errors", .device = gpu.address}};
  return finding;
}

Finding limit_not_known(const Gpu& gpu) {
  const auto& link = gpu.link;
  if (!link.generation_max && !link.generation) {
    return gpu::not_reported(gpu, "the PCIe generation", link.generation);
  }
  if (!link.width && !link.width_max) return gpu::not_reported(gpu, "the PCIe width", link.width);
  return unknown(gpu::name_of(gpu),
                 fmt::format("the speed of PCIe generation {} is not known",
                             link.generation_max.value_or(link.generation.value_or(0))));
}

void judge_one(const Snapshot& snapshot, const Gpu& gpu, const Limit<double>& limit,
               ReplayFindings& tally) {
  const auto& replays = gpu.link.replays;
  if (!replays) {
    tally.findings.push_back(gpu::not_reported(gpu, "the number of PCIe replays", replays));
    return;
  }
  if (*replays >= std::numeric_limits<std::uint32_t>::max()) {
    tally.findings.push_back(about(gpu::name_of(gpu), Outcome::unknown,
                                   fmt::format("the counter of PCIe replays is saturated at {}: "
                                               "reload the driver to clear it",
                                               *replays),
                                   Remedy::none, {count_value(*replays)}));
    return;
  }
  const auto most = limit ? std::optional<double>(*limit) : allowed_by_link(gpu.link);
  if (!most) {
    tally.findings.push_back(limit_not_known(gpu));
    return;
  }
  const auto key = fmt::format("gpu.{}.pcie_replays", gpu.address);
  const auto delta = rise_of(snapshot, key, *replays);
  if (!delta) {
    ++tally.first;
  } else if (delta->per_minute() > *most) {
    tally.findings.push_back(too_many(gpu, *delta, *most));
  } else {
    ++tally.judged;
  }
}

Findings judge(const Snapshot& snapshot, const Profile& profile) {
  const auto& uptime = snapshot.identity->uptime_s;
  if (!uptime) return {not_known(kNode, "the time since boot", uptime)};
  ReplayFindings tally;
  for (const Gpu* each : gpu::answering(snapshot)) {
    judge_one(snapshot, *each, profile.gpu->pcie_replay.warn_above_per_minute, tally);
  }
  if (tally.judged > 0) {
    tally.findings.push_back(
        passed(fmt::format("{} with few PCIe replays", counted(tally.judged, "GPU"))));
  }
  if (tally.first > 0) {
    tally.findings.push_back(skipped(
        fmt::format("no rate yet: PCIe replays of {} seen for the first time in this boot, or "
                    "cleared since",
                    counted(tally.first, "GPU"))));
  }
  return std::move(tally.findings);
}

}  // namespace

constinit const Check check{
    .id = "gpu.pcie_replay",
    .title = "PCIe links of GPUs rarely resend packets",
    .why =
        "A damaged PCIe packet is resent, which the GPU counts as a replay. PCI Express allows one "
        "wrong bit in 10^12, so a link at full load may replay 1e-12 times its bit rate: a few "
        "packets per minute. More point to a bad contact, riser or cable, and slow down copies "
        "between host and GPU. The rate is the average since a run at least an hour ago; the first "
        "run has no rate.",
    .fix =
        "Watch the rate, and check the link's width and speed (pci.link) and the errors that the "
        "kernel counts (pci.errors). If it persists, reseat the GPU or its riser, or report it to "
        "the provider.",
    .needs = Probe::nvml | Probe::identity,
    .not_here = gpu::none_to_judge,
    .judge = judge,
};

}  // namespace muster::checks::gpu_pcie_replay
