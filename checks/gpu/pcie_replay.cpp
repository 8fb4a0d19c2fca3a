// SPDX-License-Identifier: Apache-2.0
// gpu.pcie_replay: how often the PCIe link of a GPU sends packets again.
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

// An idle GPU slows its link down, and the replays to be judged happened while it was busy: the
// fastest that the link can be counts.
std::optional<double> allowed_by_link(const GpuLink& link) {
  const auto& generation = link.generation_max ? link.generation_max : link.generation;
  const auto& width = link.width ? link.width : link.width_max;
  if (!generation || !width) return std::nullopt;
  const auto speed_gts = pci::speed_of_generation(*generation);
  if (!speed_gts) return std::nullopt;
  return pci::replays_allowed_per_minute(*speed_gts, *width);
}

struct Tally {
  Findings findings;
  std::size_t judged = 0;
  std::size_t first = 0;
};

Finding too_many(const Gpu& gpu, const Delta& delta, double most) {
  Finding finding = gpu::warned(gpu,
                                fmt::format("{:.1f} PCIe replays per minute in {}, limit {:.1f}",
                                            delta.per_minute(), in_time(delta.seconds), most),
                                Remedy::watch, {delta.per_minute(), most, "per minute"});
  // The kernel counts the damaged packets, too, where it sees the bus.
  finding.seen_by = {{.check = "pci.errors", .device = gpu.address}};
  return finding;
}

// Why the limit is not known: the fact that is missing.
Finding without_limit(const Gpu& gpu) {
  const auto& link = gpu.link;
  if (!link.generation_max && !link.generation) {
    return gpu::not_told(gpu, "the PCIe generation", link.generation);
  }
  if (!link.width && !link.width_max) return gpu::not_told(gpu, "the PCIe width", link.width);
  return unknown(gpu::name_of(gpu),
                 fmt::format("the speed of PCIe generation {} is not known",
                             link.generation_max.value_or(link.generation.value_or(0))));
}

void judge_one(const Snapshot& snapshot, const Gpu& gpu, const Limit<double>& limit, Tally& tally) {
  const auto& replays = gpu.link.replays;
  if (!replays) {
    tally.findings.push_back(gpu::not_told(gpu, "the number of PCIe replays", replays));
    return;
  }
  if (*replays >= std::numeric_limits<std::uint32_t>::max()) {
    tally.findings.push_back(about(gpu::name_of(gpu), Outcome::unknown,
                                   fmt::format("the counter of PCIe replays is saturated at {}: "
                                               "loading the driver again clears it",
                                               *replays),
                                   Remedy::none, {count_value(*replays)}));
    return;
  }
  const auto most = limit ? std::optional<double>(*limit) : allowed_by_link(gpu.link);
  if (!most) {
    tally.findings.push_back(without_limit(gpu));
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
  if (!uptime) return {not_known(kNode, "the time since boot, which rates need,", uptime)};
  Tally tally;
  for (const Gpu* each : gpu::answering(snapshot)) {
    judge_one(snapshot, *each, profile.gpu->pcie_replay.warn_above_per_minute, tally);
  }
  if (tally.judged > 0) {
    tally.findings.push_back(
        passed(fmt::format("{} with few PCIe replays", counted(tally.judged, "GPU"))));
  }
  if (tally.first > 0) {
    tally.findings.push_back(skipped(
        fmt::format("PCIe replays of {} seen for the first time in this boot, or cleared since: no "
                    "rate yet",
                    counted(tally.first, "GPU"))));
  }
  return std::move(tally.findings);
}

}  // namespace

constinit const Check check{
    .id = "gpu.pcie_replay",
    .title = "PCIe links of GPUs seldom send packets again",
    .why =
        "A PCIe packet that arrives damaged is sent again, which the GPU counts as a replay. PCI "
        "Express allows one wrong bit in 10^12, so that a link at full load may replay a few "
        "packets per minute: as many as 1e-12 times its bit rate. More than that points to a bad "
        "contact, riser or cable, and makes copies between host and GPU slow. The rate is the "
        "average since the run an hour ago or before; the first run has none.",
    .fix =
        "Watch the rate, and check the link's width and speed (pci.link) and the errors that the "
        "kernel counts (pci.errors). If it stays, reseat the GPU or its riser, or report it to the "
        "provider.",
    .needs = Probe::nvml | Probe::identity,
    .not_here = gpu::none_to_judge,
    .judge = judge,
};

}  // namespace muster::checks::gpu_pcie_replay
