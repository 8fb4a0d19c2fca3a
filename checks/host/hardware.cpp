// SPDX-License-Identifier: Apache-2.0
// Processors, memory errors and temperatures.
#include <fmt/ranges.h>

#include "checks/catalogue.hpp"
#include "checks/shared/rise.hpp"
#include "checks/shared/support.hpp"

namespace muster::checks {
namespace {

// host.cpu: the node has the expected processors, and none is offline.

struct CpuCount {
  std::string_view noun;
  Fact<unsigned> seen;
  Limit<int> expected;

  [[nodiscard]] bool differs() const {
    return expected && seen && static_cast<std::int64_t>(*seen) != *expected;
  }
};

// Not counting NUMA nodes of GPU memory (GB200), which have no CPUs.
Fact<unsigned> nodes_with_cpus(const Fact<std::vector<NumaNode>>& nodes) {
  if (!nodes) return Fact<unsigned>::unreadable(nodes.why());
  unsigned count = 0;
  for (const auto& node : *nodes) {
    if (!node.cpus) return Fact<unsigned>::unreadable(node.cpus.why());
    if (!node.cpus->empty()) ++count;
  }
  return count;
}

// With SMT off, the second thread of every core is present but offline: as many threads as cores
// are online, and the number of offline ones is a multiple of that.
Finding judge_offline(const Cpu& cpu, const std::vector<unsigned>& offline) {
  const auto cores = cpu.cores.value_or(0);
  const bool smt_off = cores > 0 && cpu.threads.value_or(0) == cores && offline.size() % cores == 0;
  return about(
      kNode, smt_off ? Outcome::warn : Outcome::fail,
      fmt::format("{} offline: {}{}", counted(offline.size(), "CPU"), *cpu.offline,
                  smt_off ? ", as if SMT is off; set host.cpu.threads if that is intended" : ""),
      smt_off ? Remedy::fix_config : Remedy::reboot, {count_value(offline.size()), 0, "CPUs"});
}

// Wrong counts have one cause and share one finding, which has the first wrong value.
Finding judge_counts(const Snapshot& snapshot, const std::vector<CpuCount>& counts) {
  const auto first = std::ranges::find_if(counts, &CpuCount::differs);
  std::vector<std::string> parts;
  for (const auto& count : counts) {
    if (count.differs()) {
      parts.push_back(
          fmt::format("{}, expected {}", counted(*count.seen, count.noun), *count.expected));
    }
  }
  const Fact<std::string>& offline = snapshot.cpu->offline;
  if (offline && !offline->empty()) parts.push_back(fmt::format("offline: CPUs {}", *offline));
  return failed(kNode, fmt::format("{}", fmt::join(parts, "; ")), hardware_remedy(snapshot),
                {*first->seen, *first->expected, fmt::format("{}s", first->noun)});
}

std::string describe(const std::vector<CpuCount>& counts) {
  std::vector<std::string> parts;
  for (const auto& count : counts) {
    if (count.seen) parts.push_back(counted(*count.seen, count.noun));
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

Findings judge_cpu(const Snapshot& snapshot, const Profile& profile) {
  const Cpu& cpu = *snapshot.cpu;
  const CpuLimits& limits = profile.host->cpu;
  const std::vector<CpuCount> counts{
      {"socket", cpu.sockets, limits.sockets},
      {"core", cpu.cores, limits.cores},
      {"thread", cpu.threads, limits.threads},
      {"NUMA node", nodes_with_cpus(cpu.numa_nodes), limits.numa_nodes}};
  Findings findings;
  for (const auto& count : counts) {
    if (count.expected && !count.seen) {
      findings.push_back(
          not_known(kNode, fmt::format("the number of {}s", count.noun), count.seen));
    }
  }
  if (std::ranges::any_of(counts, &CpuCount::differs)) {
    findings.push_back(judge_counts(snapshot, counts));
    return findings;
  }

  const auto offline = cpu.offline ? parse_cpu_list(*cpu.offline) : make_error(cpu.offline.why());
  // With the expected number of threads online, the others are offline on purpose.
  const bool threads_judged = limits.threads && cpu.threads;
  if (!offline) {
    findings.push_back(unknown(
        kNode, fmt::format("the list of offline CPUs is unknown: {}", offline.error().message)));
  } else if (!offline->empty() && !threads_judged) {
    findings.push_back(judge_offline(cpu, *offline));
  }
  return or_pass(std::move(findings), describe(counts));
}

// host.edac: memory errors counted by the memory controllers.

// Long enough for a steady rate with runs every few minutes, short enough to show a DIMM that just
// went bad.
constexpr double kWindowS = kHour;

std::optional<Delta> rise_of_corrected(const Snapshot& snapshot, const EdacController& controller) {
  return rise_of(snapshot, fmt::format("edac.{}.corrected", controller.name), *controller.corrected,
                 kWindowS);
}

Finding judge_rate(const Snapshot& snapshot, const EdacController& controller,
                   double most_per_hour) {
  const Fact<double>& uptime = snapshot.identity->uptime_s;
  if (!controller.corrected) {
    return not_known(controller.name, "the number of corrected memory errors",
                     controller.corrected);
  }
  if (!uptime) return not_known(controller.name, "the time since boot", uptime);
  if (is_saturated(*controller.corrected)) {
    return warned(controller.name,
                  fmt::format("the counter of corrected memory errors is saturated at {}: reload "
                              "the driver or reboot to clear it",
                              *controller.corrected),
                  Remedy::watch, {count_value(*controller.corrected)});
  }
  const auto delta = rise_of_corrected(snapshot, controller);
  if (!delta) {
    // Uncorrected errors were judged; only the rate needs a second observation.
    return passed(fmt::format("no uncorrected memory errors; {} so far, no rate yet",
                              counted(*controller.corrected, "corrected error")),
                  controller.name);
  }
  if (delta->per_hour() <= most_per_hour) {
    return passed(
        fmt::format("no uncorrected memory errors; {:.1f} corrected per hour", delta->per_hour()),
        controller.name);
  }
  return warned(controller.name,
                fmt::format("{} in the last {}, {:.1f} per hour; expected at most {:g}",
                            counted(delta->increments, "corrected memory error"),
                            in_time(delta->seconds), delta->per_hour(), most_per_hour),
                Remedy::watch, {delta->per_hour(), most_per_hour, "errors/h"});
}

Finding judge_controller(const Snapshot& snapshot, const EdacController& controller,
                         const Limit<double>& most_per_hour) {
  if (!controller.uncorrected) {
    return not_known(controller.name, "the number of uncorrected memory errors",
                     controller.uncorrected);
  }
  if (*controller.uncorrected > 0) {
    return failed(controller.name,
                  fmt::format("{} since the driver was loaded, expected none",
                              counted(*controller.uncorrected, "uncorrected memory error")),
                  hardware_remedy(snapshot), {count_value(*controller.uncorrected), 0, "errors"});
  }
  if (!most_per_hour) return passed("no uncorrected memory errors", controller.name);
  return judge_rate(snapshot, controller, *most_per_hour);
}

Findings judge_edac(const Snapshot& snapshot, const Profile& profile) {
  const Fact<std::vector<EdacController>>& edac = snapshot.kernel->edac;
  if (edac.is_unreadable()) return {not_known(kNode, "the list of memory controllers", edac)};
  if (!edac) return {skipped(fmt::format("no memory controller reports errors: {}", edac.why()))};
  Findings findings;
  for (const auto& controller : *edac) {
    findings.push_back(
        judge_controller(snapshot, controller, profile.host->edac.corrected_warn_above_per_hour));
  }
  if (findings.empty()) return {skipped("no memory controller reports errors")};
  return findings;
}

void margins_of_edac(const Snapshot& snapshot, const Profile& profile, Margins& margins) {
  if (!snapshot.kernel->edac || !snapshot.identity->uptime_s) return;
  margins.in(kHour, MarginUnit::per_second);
  for (const auto& controller : *snapshot.kernel->edac) {
    if (!controller.corrected || is_saturated(*controller.corrected)) continue;
    if (const auto delta = rise_of_corrected(snapshot, controller)) {
      margins.at_most(controller.name, "corrected", delta->per_hour(),
                      profile.host->edac.corrected_warn_above_per_hour);
    }
  }
}

// host.temperature: no part of the machine is at the temperature limit of its firmware.

// Some firmware reports 0 if it has no limit.
constexpr double kMinLimitC = 40;
constexpr double kMarginC = 5;

// The lower of the zone's own limits.
std::optional<double> limit_of(const ThermalZone& zone) {
  std::optional<double> least;
  for (const auto* limit : {&zone.critical_c, &zone.hot_c}) {
    if (!*limit || **limit < kMinLimitC) continue;
    if (!least || **limit < *least) least = **limit;
  }
  return least;
}

Findings judge_zones(const Snapshot& snapshot, const Profile& /*profile*/) {
  const auto& zones = snapshot.kernel->thermal_zones;
  if (zones.is_absent()) return {skipped("the kernel reports no temperatures")};
  if (!zones) return {not_known(kNode, "the temperature of the machine", zones)};
  Findings findings;
  std::uint64_t judged = 0;
  for (const auto& zone : *zones) {
    const auto limit = limit_of(zone);
    if (!zone.now_c || !limit) continue;
    ++judged;
    if (*zone.now_c < *limit - kMarginC) continue;
    const bool over = *zone.now_c >= *limit;
    findings.push_back(about(
        zone.name, over ? Outcome::fail : Outcome::warn,
        fmt::format("{} at {:.0f} C, its own limit is {:.0f} C", zone.name, *zone.now_c, *limit),
        over ? hardware_remedy(snapshot) : Remedy::watch, {*zone.now_c, *limit, "C"}));
  }
  if (judged == 0) return {skipped("no thermal zone reports both a temperature and a limit")};
  return or_pass(std::move(findings),
                 fmt::format("{} below their own limits", counted(judged, "temperature")));
}

void margins_of_zones(const Snapshot& snapshot, const Profile& /*profile*/, Margins& margins) {
  if (!snapshot.kernel->thermal_zones) return;
  for (const auto& zone : *snapshot.kernel->thermal_zones) {
    const auto limit = limit_of(zone);
    // Already warns close to the limit.
    if (zone.now_c && limit)
      margins.at_most(kNode, "", *zone.now_c, Limit<double>(*limit - kMarginC));
  }
}

}  // namespace

constinit const Check host_cpu::check{
    .id = "host.cpu",
    .title = "Sockets, cores, threads and NUMA nodes are as expected, and no core is offline",
    .why =
        "Counts the sockets, cores, threads and NUMA nodes that are online. Jobs that pin ranks to "
        "cores fail or run slowly if a core is missing; a wrong number of NUMA nodes means a "
        "firmware setting, or a machine that does not match the profile. NUMA nodes without CPUs "
        "(GPU memory) are not counted.",
    .fix =
        "Bring offline CPUs back (echo 1 > /sys/devices/system/cpu/cpuN/online) or reboot. If "
        "sockets or NUMA nodes are missing, look at the firmware settings (NUMA per socket, SMT) "
        "and the machine's event log; return a virtual machine of the wrong shape to its provider.",
    .code = "NHC2022",
    .needs = Probe::cpu,
    .judge = judge_cpu,
};

constinit const Check host_edac::check{
    .id = "host.edac",
    .title = "No uncorrected memory errors, and few corrected ones",
    .why =
        "Reads the error counters of the memory controllers (EDAC). An uncorrected error destroyed "
        "data: the result of the job at that time cannot be trusted. Many corrected errors often "
        "precede an uncorrected one. Virtual machines have no such counters.",
    .fix =
        "Find the DIMM (edac-util --verbose, ras-mc-ctl --errors, the machine's event log) and "
        "replace it. The counters restart at zero at boot.",
    .needs = Probe::kernel | Probe::identity,
    .judge = judge_edac,
    .margins = margins_of_edac,
};

constinit const Check host_temperature::check{
    .id = "host.temperature",
    .title = "No part of the machine is at its temperature limit",
    .why =
        "The kernel reports the temperatures of processors and boards (on Grace, of cores and "
        "memory), and the firmware the limits at which each is hot or critical: there the machine "
        "slows down, and then powers off in the middle of a job. Zones without a limit are not "
        "judged; virtual machines have none.",
    .fix =
        "Look at fans, air flow and coolant of the node and its neighbours, and at the firmware's "
        "log (ipmitool sel list). 5 C below the limit is a warning.",
    .needs = Probe::kernel | Probe::identity,
    .judge = judge_zones,
    .margins = margins_of_zones,
};

}  // namespace muster::checks
