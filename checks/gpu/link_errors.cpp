// SPDX-License-Identifier: Apache-2.0
// Errors of the links of GPUs: NVLinks and PCIe.

#include "checks/catalogue.hpp"
#include "checks/shared/gpus.hpp"
#include "checks/shared/nvlinks.hpp"
#include "checks/shared/pci_bus.hpp"
#include "checks/shared/rise.hpp"

namespace muster::checks {
namespace {

// gpu.nvlink_errors: NVLinks carry data with fewer errors than their limits. gpu.nvlink_state
// reports links that are down.

using gpu::Links;

// The links of one GPU that exceed one limit.
struct Excess {
  Links links;
  double worst = 0;
  double seconds = 0;  // the time over which the worst was seen

  void add_link(const NvLink& link, double value, double in_seconds = 0) {
    links.push_back(&link);
    if (links.size() > 1 && value <= worst) return;
    worst = value;
    seconds = in_seconds;
  }
};

// Counts of links without a finding.
struct LinkCounts {
  std::size_t by_counters = 0;
  std::size_t by_ber_only = 0;
  std::size_t first = 0;  // without an earlier observation or a bit error rate

  void add(const LinkCounts& other) {
    by_counters += other.by_counters;
    by_ber_only += other.by_ber_only;
    first += other.first;
  }
};

// The links of one GPU with a counter that cannot be used.
struct NotCounted {
  Links links;
  std::string why;  // of the first

  void add_link(const NvLink& link, const std::string& reason) {
    if (links.empty()) why = reason;
    if (links.empty() || links.back() != &link) links.push_back(&link);
  }
};

struct SeenErrors {
  Excess ber;
  Excess crc;
  Excess failed;  // failed recoveries
  Excess recoveries;
  Excess replays;
  Excess damaged;  // packets
  NotCounted unreadable;
  NotCounted saturated;
  LinkCounts links;
};

class GpuErrors {
 public:
  GpuErrors(const Snapshot& snapshot, const Gpu& gpu, const GpuNvlinkErrorLimits& limits)
      : snapshot_(snapshot), gpu_(gpu), limits_(limits) {
    const auto links = gpu::links_where(
        gpu, [](const NvLink& link) { return !gpu::is(link, gpu::LinkState::inactive); });
    for (const NvLink* link : links) scan_link(*link);
  }

  [[nodiscard]] const SeenErrors& seen() const { return seen_; }
  // Returns those of all links.
  [[nodiscard]] const Margins& margins() const { return margins_; }

 private:
  void scan_link(const NvLink& link) {
    const bool rate = scan_bit_errors(link);
    const auto crc = rise(link, "crc", link.crc, kHour);
    const auto recoveries = rise(link, "recoveries", link.recoveries, limits_.window.value);
    const auto replays = rise(link, "replays", link.replays, limits_.window.value);
    if (crc && limits_.crc_fail_from_per_second) {
      const double rate_of_crc = static_cast<double>(crc->increments) / crc->seconds;
      margins_.in(1, MarginUnit::per_second)
          .at_most(gpu::name_of(gpu_), "crc", rate_of_crc, limits_.crc_fail_from_per_second);
      if (rate_of_crc >= *limits_.crc_fail_from_per_second) {
        seen_.crc.add_link(link, rate_of_crc, crc->seconds);
      }
    }
    count(link, recoveries, limits_.recoveries_warn_above, seen_.recoveries);
    count(link, replays, limits_.replays_warn_above, seen_.replays);
    scan_newer_counters(link);
    const bool counted_errors = link.crc || link.recoveries || link.replays;
    if (crc || recoveries || replays) {
      ++seen_.links.by_counters;
    } else if (rate) {
      ++seen_.links.by_ber_only;
    } else if (counted_errors) {
      ++seen_.links.first;
    }
  }

  // GPUs since Blackwell have these counters instead of replays and CRC errors.
  void scan_newer_counters(const NvLink& link) {
    const auto known = [&](std::string_view name, const Fact<std::uint64_t>& fact) {
      // Older drivers refuse these in several ways.
      return fact ? rise(link, name, fact, limits_.window.value) : std::nullopt;
    };
    count(link, known("failed_recoveries", link.failed_recoveries),
          limits_.failed_recoveries_fail_above, seen_.failed);
    auto damaged = known("receive_errors", link.receive_errors);
    const auto integrity = known("integrity_errors", link.integrity_errors);
    if (damaged && integrity) damaged->increments += integrity->increments;
    count(link, damaged ? damaged : integrity, limits_.damaged_warn_above, seen_.damaged);
  }

  bool scan_bit_errors(const NvLink& link) {
    if (!limits_.ber_fail_above) return false;
    if (link.ber.is_unreadable()) seen_.unreadable.add_link(link, link.ber.why());
    if (!link.ber) return false;
    margins_.in(1, MarginUnit::per_bit)
        .at_most(gpu::name_of(gpu_), "nvlink_effective", *link.ber, limits_.ber_fail_above);
    if (*link.ber > *limits_.ber_fail_above) seen_.ber.add_link(link, *link.ber);
    return true;
  }

  [[nodiscard]] std::optional<Delta> rise(const NvLink& link, std::string_view name,
                                          const Fact<std::uint64_t>& fact, double over_s) {
    if (fact.is_unreadable()) seen_.unreadable.add_link(link, fact.why());
    if (!fact) return std::nullopt;
    if (is_saturated(*fact)) {
      seen_.saturated.add_link(link, fmt::format("{} at {}", name, *fact));
      return std::nullopt;
    }
    const auto key = fmt::format("gpu.{}.nvlink.{}.{}", gpu_.address, link.link, name);
    return rise_of(snapshot_, key, *fact, over_s);
  }

  void count(const NvLink& link, const std::optional<Delta>& delta, const Limit<int>& most,
             Excess& excess) {
    if (!delta || !most) return;
    margins_.in(1, MarginUnit::any)
        .at_most(gpu::name_of(gpu_), "", static_cast<double>(delta->increments), most);
    if (delta->increments <= static_cast<std::uint64_t>(*most)) return;
    excess.add_link(link, static_cast<double>(delta->increments), delta->seconds);
  }

  const Snapshot& snapshot_;
  const Gpu& gpu_;
  const GpuNvlinkErrorLimits& limits_;
  SeenErrors seen_;
  Margins margins_;
};

std::string_view up_to(const Links& links) { return links.size() == 1 ? "" : "up to "; }

Finding too_many_bits(const Snapshot& snapshot, const Gpu& gpu, const Excess& excess, double most) {
  return gpu::failed(gpu,
                     fmt::format("effective bit error rate of {} is {}{:.1e}, limit {:.1e}",
                                 gpu::named(excess.links), up_to(excess.links), excess.worst, most),
                     hardware_remedy(snapshot), {excess.worst, most});
}

Finding too_many_crc(const Snapshot& snapshot, const Gpu& gpu, const Excess& excess, double least) {
  return gpu::failed(gpu,
                     fmt::format("{} {}{:.1f} CRC errors per second in {}, limit {:g}",
                                 gpu::named(excess.links, "has", "have"), up_to(excess.links),
                                 excess.worst, in_time(excess.seconds), least),
                     hardware_remedy(snapshot), {excess.worst, least, "per second"});
}

Finding repeated(const Gpu& gpu, const Excess& excess, std::string_view what, int most,
                 Outcome outcome = Outcome::warn, Remedy remedy = Remedy::watch) {
  const auto times = static_cast<std::uint64_t>(excess.worst);
  return gpu::about(
      gpu, outcome,
      fmt::format("{} {} {}{} in {}, expected at most {}", gpu::named(excess.links), what,
                  up_to(excess.links), counted(times, "time"), in_time(excess.seconds), most),
      remedy, {count_value(times), most});
}

// The worst finding only: one bad link raises several counters.
std::optional<Finding> worst_of(const Snapshot& snapshot, const Gpu& gpu, const SeenErrors& seen,
                                const GpuNvlinkErrorLimits& limits) {
  if (!seen.ber.links.empty()) {
    return too_many_bits(snapshot, gpu, seen.ber, *limits.ber_fail_above);
  }
  if (!seen.crc.links.empty()) {
    return too_many_crc(snapshot, gpu, seen.crc, *limits.crc_fail_from_per_second);
  }
  if (!seen.failed.links.empty()) {
    return repeated(gpu, seen.failed, "failed to recover", *limits.failed_recoveries_fail_above,
                    Outcome::fail, hardware_remedy(snapshot));
  }
  if (const auto& [links, why] = seen.unreadable; !links.empty()) {
    return unknown(gpu::name_of(gpu),
                   fmt::format("the errors of {} are unknown: {}", gpu::named(links), why));
  }
  if (!seen.recoveries.links.empty()) {
    return repeated(gpu, seen.recoveries, "recovered", *limits.recoveries_warn_above);
  }
  if (!seen.replays.links.empty()) {
    return repeated(gpu, seen.replays, "replayed data", *limits.replays_warn_above);
  }
  if (!seen.damaged.links.empty()) {
    return repeated(gpu, seen.damaged, "received damaged packets", *limits.damaged_warn_above);
  }
  if (const auto& [links, why] = seen.saturated; !links.empty()) {
    return gpu::warned(gpu,
                       fmt::format("an error counter of {} is saturated ({}): reload the driver to "
                                   "clear it",
                                   gpu::named(links), why),
                       Remedy::watch);
  }
  return std::nullopt;
}

Finding summary(const LinkCounts& counts) {
  const auto judged = counts.by_counters + counts.by_ber_only;
  if (judged == 0 && counts.first > 0) {
    return skipped(
        "first observation in this boot, or counters cleared since: a rate needs an earlier one");
  }
  if (judged == 0) return skipped("no GPU reports NVLink errors");
  std::string message = fmt::format("{} within error limits", counted(judged, "NVLink"));
  if (counts.by_ber_only > 0) {
    message += fmt::format(", {} by bit error rate only, without an earlier run",
                           counts.by_counters == 0 ? "all" : std::to_string(counts.by_ber_only));
  }
  if (counts.first > 0) message += fmt::format(", {} seen for the first time", counts.first);
  return passed(std::move(message));
}

Findings judge_nvlink_errors(const Snapshot& snapshot, const Profile& profile) {
  const auto& uptime = snapshot.identity->uptime_s;
  if (!uptime) return {not_known(kNode, "the time since boot", uptime)};
  const auto& limits = profile.gpu->nvlink_errors;
  Findings findings;
  LinkCounts counts;
  for (const Gpu* each : gpu::answering(snapshot)) {
    if (each->nvlinks.is_unreadable()) {
      findings.push_back(gpu::not_reported(*each, "the number of NVLink errors", each->nvlinks));
      continue;
    }
    const GpuErrors errors(snapshot, *each, limits);
    auto finding = worst_of(snapshot, *each, errors.seen(), limits);
    if (!finding) counts.add(errors.seen().links);
    append(findings, std::move(finding));
  }
  if (findings.empty() || counts.by_counters + counts.by_ber_only > 0) {
    findings.push_back(summary(counts));
  }
  return findings;
}

void margins_of_nvlink_errors(const Snapshot& snapshot, const Profile& profile, Margins& margins) {
  if (!snapshot.identity->uptime_s) return;
  for (const Gpu* each : gpu::answering(snapshot)) {
    if (each->nvlinks) {
      margins.append(GpuErrors(snapshot, *each, profile.gpu->nvlink_errors).margins());
    }
  }
}

std::optional<Finding> nvlink_errors_not_applicable(const Snapshot& snapshot,
                                                    const Profile& profile) {
  const auto& limits = profile.gpu->nvlink_errors;
  if (!limits.crc_fail_from_per_second && !limits.ber_fail_above && !limits.replays_warn_above &&
      !limits.recoveries_warn_above && !limits.failed_recoveries_fail_above &&
      !limits.damaged_warn_above) {
    return not_limited("NVLink errors");
  }
  return gpu::none_to_judge(snapshot, profile);
}

// gpu.pcie_replay: how often the PCIe link of a GPU resends packets.

// An idle GPU slows its link down, but the replays happened while it was busy, so the maximum speed
// counts.
std::optional<double> allowed_by_link(const GpuLink& link) {
  const auto& generation = link.generation_max ? link.generation_max : link.generation;
  const auto& width = link.width ? link.width : link.width_max;
  const auto speed_gts = pci::speed_of_generation(generation.value_or(0));
  if (!speed_gts || !width) return std::nullopt;
  return pci::replays_allowed_per_minute(*speed_gts, *width);
}

// NVML's counter has 32 bits.
bool is_at_end(std::uint64_t replays) {
  return replays >= std::numeric_limits<std::uint32_t>::max();
}

Finding limit_not_known(const Gpu& gpu) {
  const auto& link = gpu.link;
  if (!link.generation_max && !link.generation) {
    return gpu::not_reported(gpu, "the PCIe generation", link.generation);
  }
  if (!link.width && !link.width_max) return gpu::not_reported(gpu, "the PCIe width", link.width);
  return unknown(gpu::name_of(gpu),
                 fmt::format("the speed of PCIe generation {} is unknown",
                             link.generation_max.value_or(link.generation.value_or(0))));
}

// Counts the GPUs without an earlier observation in `first`.
std::optional<Finding> judge_pcie_replay_of(const Snapshot& snapshot, const Gpu& gpu,
                                            const Limit<double>& limit, std::size_t& first) {
  const auto& replays = gpu.link.replays;
  if (!replays) return gpu::not_reported(gpu, "the number of PCIe replays", replays);
  if (is_at_end(*replays)) {
    return gpu::warned(
        gpu,
        fmt::format("the counter of PCIe replays is saturated at {}: reload the driver to clear it",
                    *replays),
        Remedy::watch, {count_value(*replays)});
  }
  const auto most = limit ? limit : allowed_by_link(gpu.link);
  if (!most) return limit_not_known(gpu);
  const auto delta = rise_of(snapshot, pci::replay_key(gpu.address), *replays);
  if (!delta) ++first;
  if (!delta || delta->per_minute() <= *most) return std::nullopt;
  Finding finding = gpu::warned(gpu,
                                fmt::format("{:.1f} PCIe replays per minute in {}, limit {:.1f}",
                                            delta->per_minute(), in_time(delta->seconds), *most),
                                Remedy::watch, {delta->per_minute(), *most, "per minute"});
  // The kernel counts the damaged packets as well.
  finding.seen_by = {{.check = "pci.errors", .device = gpu.address}};
  return finding;
}

Findings judge_pcie_replay(const Snapshot& snapshot, const Profile& profile) {
  const auto& uptime = snapshot.identity->uptime_s;
  if (!uptime) return {not_known(kNode, "the time since boot", uptime)};
  const auto gpus = gpu::answering(snapshot);
  Findings findings;
  std::size_t first = 0;
  for (const Gpu* each : gpus) {
    append(findings, judge_pcie_replay_of(snapshot, *each,
                                          profile.gpu->pcie_replay.warn_above_per_minute, first));
  }
  if (const auto judged = gpus.size() - findings.size() - first; judged > 0) {
    findings.push_back(passed(fmt::format("{} with few PCIe replays", counted(judged, "GPU"))));
  }
  if (first > 0) {
    findings.push_back(skipped(fmt::format(
        "no rate yet: first reading of the PCIe replays of {} since boot, or since they "
        "were cleared",
        counted(first, "GPU"))));
  }
  return findings;
}

void margins_of_pcie_replay(const Snapshot& snapshot, const Profile& profile, Margins& margins) {
  if (!snapshot.identity->uptime_s) return;
  margins.in(kMinute, MarginUnit::per_second);
  const auto& limit = profile.gpu->pcie_replay.warn_above_per_minute;
  for (const Gpu* each : gpu::answering(snapshot)) {
    const auto& replays = each->link.replays;
    if (!replays || is_at_end(*replays)) continue;
    const auto delta = rise_of(snapshot, pci::replay_key(each->address), *replays);
    if (!delta) continue;
    margins.at_most(gpu::name_of(*each), "replay", delta->per_minute(),
                    limit ? limit : allowed_by_link(each->link));
  }
}

}  // namespace

constinit const Check gpu_nvlink_errors::check = gpu::check_of_gpus({
    .id = "gpu.nvlink_errors",
    .title = "NVLink errors stay below their limits",
    .why =
        "A link with a bad connection resends damaged data (replay), retrains (recovery), and "
        "counts checksum errors (CRC); since Blackwell it counts damaged packets and failed "
        "recoveries. Jobs become slower and then stop. Only errors since earlier runs count: links "
        "make errors while they train at boot, and counters restart when the driver is loaded. "
        "Newer GPUs also report the bit error rate after error correction (the effective bit error "
        "rate), which the first run can judge. Each GPU gets one finding about its worst link. "
        "gpu.nvlink_state reports links that are down.",
    .fix =
        "A single replay or recovery: watch the link. A failure: drain the node and run the field "
        "diagnostic; reseat or replace the GPU, its bridge or its baseboard, or report the GPU's "
        "serial number and the link to the provider.",
    .code = "NHC2016",
    .nvml_parts = {.links = true},
    .not_applicable = nvlink_errors_not_applicable,
    .judge = judge_nvlink_errors,
    .margins = margins_of_nvlink_errors,
});

constinit const Check gpu_pcie_replay::check = gpu::check_of_gpus({
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
    .judge = judge_pcie_replay,
    .margins = margins_of_pcie_replay,
});

}  // namespace muster::checks
