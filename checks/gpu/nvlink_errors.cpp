// SPDX-License-Identifier: Apache-2.0
// gpu.nvlink_errors: NVLinks carry data with fewer errors than their limits. gpu.nvlink_state
// reports links that are down.
#include <array>
#include <cstdint>
#include <limits>
#include <utility>

#include "checks/catalogue.hpp"
#include "checks/shared/nvlinks.hpp"
#include "checks/shared/rise.hpp"
#include "lib/base/units.hpp"
#include "lib/profile/limits/gpu.hpp"
#include "lib/state/counters.hpp"

namespace muster::checks::gpu_nvlink_errors {
namespace {

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

struct SeenErrors {
  Excess ber;
  Excess crc;
  Excess failed;  // failed recoveries
  Excess recoveries;
  Excess replays;
  Excess damaged;  // packets
  Links unreadable;
  std::string why;
  LinkCounts links;
};

void add_unreadable(SeenErrors& seen, const NvLink& link, const std::string& why) {
  if (seen.unreadable.empty()) seen.why = why;
  if (seen.unreadable.empty() || seen.unreadable.back() != &link) seen.unreadable.push_back(&link);
}

class GpuErrors {
 public:
  GpuErrors(const Snapshot& snapshot, const Gpu& gpu, const GpuNvlinkErrorLimits& limits)
      : snapshot_(snapshot), gpu_(gpu), limits_(limits) {
    const auto links = gpu::links_where(
        gpu, [](const NvLink& link) { return !gpu::is(link, gpu::LinkState::inactive); });
    for (const NvLink* link : links) scan_link(*link);
  }

  [[nodiscard]] const SeenErrors& seen() const { return seen_; }

 private:
  void scan_link(const NvLink& link) {
    const bool rate = scan_bit_errors(link);
    const auto crc = rise(link, "crc", link.crc, kHour);
    const auto recoveries = rise(link, "recoveries", link.recoveries, limits_.window.value);
    const auto replays = rise(link, "replays", link.replays, limits_.window.value);
    if (crc && limits_.crc_fail_from_per_second) {
      const double rate_of_crc = static_cast<double>(crc->increments) / crc->seconds;
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
    if (link.ber.is_unreadable()) add_unreadable(seen_, link, link.ber.why());
    if (!link.ber) return false;
    if (*link.ber > *limits_.ber_fail_above) seen_.ber.add_link(link, *link.ber);
    return true;
  }

  [[nodiscard]] std::optional<Delta> rise(const NvLink& link, std::string_view name,
                                          const Fact<std::uint64_t>& fact, double over_s) {
    if (fact.is_unreadable()) add_unreadable(seen_, link, fact.why());
    if (!fact) return std::nullopt;
    constexpr std::array<std::uint64_t, 2> kEnds{std::numeric_limits<std::uint32_t>::max(),
                                                 std::numeric_limits<std::uint64_t>::max()};
    if (std::ranges::count(kEnds, *fact) > 0) {
      add_unreadable(seen_, link, fmt::format("the counter {} is saturated at {}", name, *fact));
      return std::nullopt;
    }
    const auto key = fmt::format("gpu.{}.nvlink.{}.{}", gpu_.address, link.link, name);
    return rise_of(snapshot_, key, *fact, over_s);
  }

  static void count(const NvLink& link, const std::optional<Delta>& delta, const Limit<int>& most,
                    Excess& excess) {
    if (!delta || !most || delta->increments <= static_cast<std::uint64_t>(*most)) return;
    excess.add_link(link, static_cast<double>(delta->increments), delta->seconds);
  }

  const Snapshot& snapshot_;
  const Gpu& gpu_;
  const GpuNvlinkErrorLimits& limits_;
  SeenErrors seen_;
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
    return repeated(gpu, seen.failed, "could not be recovered",
                    *limits.failed_recoveries_fail_above, Outcome::fail, hardware_remedy(snapshot));
  }
  if (!seen.unreadable.empty()) {
    return unknown(gpu::name_of(gpu), fmt::format("the errors of {} are not known: {}",
                                                  gpu::named(seen.unreadable), seen.why));
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

Findings judge(const Snapshot& snapshot, const Profile& profile) {
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

std::optional<Finding> not_here(const Snapshot& snapshot, const Profile& profile) {
  const auto& limits = profile.gpu->nvlink_errors;
  if (!limits.crc_fail_from_per_second && !limits.ber_fail_above && !limits.replays_warn_above &&
      !limits.recoveries_warn_above && !limits.failed_recoveries_fail_above &&
      !limits.damaged_warn_above) {
    return not_limited("NVLink errors");
  }
  return gpu::none_to_judge(snapshot, profile);
}

}  // namespace

constinit const Check check{
    .id = "gpu.nvlink_errors",
    .title = "NVLink errors stay below their limits",
    .why =
        "A link with a bad connection resends damaged data (replay), retrains (recovery), and "
        "counts "
        "checksum errors (CRC); since Blackwell it counts damaged packets and failed recoveries. "
        "Jobs become slower and then stop. Only errors since earlier runs count: links make errors "
        "while they train at boot, and counters restart when the driver is loaded. Newer GPUs also "
        "report the bit error rate after error correction (the effective bit error rate), which "
        "the first run can judge. Each GPU gets one finding about its worst link. gpu.nvlink_state "
        "reports links that are down.",
    .fix =
        "A single replay or recovery: watch the link. A failure: drain the node and run the field "
        "diagnostic; reseat or replace the GPU, its bridge or its baseboard, or report the GPU's "
        "serial number and the link to the provider.",
    .code = "NHC2016",
    .needs = Probe::nvml | Probe::identity,
    .asks = {.links = true},
    .not_here = not_here,
    .judge = judge,
};

}  // namespace muster::checks::gpu_nvlink_errors
