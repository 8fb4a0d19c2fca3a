// SPDX-License-Identifier: Apache-2.0
// host.kernel_log: what the kernel reported about failing hardware, disks and file systems.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "checks/catalogue.hpp"
#include "checks/host/kernel_line.hpp"
#include "checks/support.hpp"
#include "lib/base/text.hpp"

namespace muster::checks {
namespace {

// The window in microseconds since boot, and the same in words.
struct Window {
  double from_us = 0;
  double now_us = 0;
  std::string words;
};

Window window_of(double uptime_s, Seconds wanted) {
  if (wanted.value <= 0 || wanted.value >= uptime_s) {
    return {.from_us = 0, .now_us = uptime_s * 1e6, .words = "since boot"};
  }
  return {.from_us = (uptime_s - wanted.value) * 1e6,
          .now_us = uptime_s * 1e6,
          .words = fmt::format("in the last {}", in_time(wanted.value))};
}

// All lines of one class about one device.
struct Incidents {
  std::uint64_t incidents = 0;
  std::uint64_t lines = 0;
  std::uint64_t last_us = 0;
  std::string newest;
  std::string remedy;

  void add(const KernelRecord& record, const KernelLogPattern& pattern, Seconds coalesce) {
    const auto gap_us = static_cast<double>(record.time_us) - static_cast<double>(last_us);
    if (incidents == 0 || gap_us > coalesce.value * 1e6) ++incidents;
    lines += record.repeats;
    last_us = std::max({last_us, record.time_us, record.last_us});
    newest = record.text;
    remedy = pattern.remedy;
  }
};

using ByKindAndDevice = std::map<std::pair<std::string, std::string>, Incidents>;

ByKindAndDevice collect(const KernelLog& log, const KernelLogLimits& limits, const Window& window) {
  ByKindAndDevice found;
  for (const auto& record : log.records) {
    // Anybody who may write to /dev/kmsg can say anything there; only the kernel's own word counts.
    if (record.facility != 0) continue;
    if (static_cast<double>(std::max(record.time_us, record.last_us)) < window.from_us) continue;
    if (is_xid_line(record.text)) continue;  // gpu.xid and gpu.sxid judge these
    const auto pattern = std::ranges::find_if(limits.patterns, [&](const KernelLogPattern& each) {
      return matches_pattern(each.pattern, record.text);
    });
    if (pattern == limits.patterns.end()) continue;
    found[{pattern->kind, device_of_line(record.text)}].add(record, *pattern, limits.coalesce);
  }
  return found;
}

// A class that the profile gives no outcome is worth a look, and nobody decided that it fails.
Outcome outcome_of(const KernelLogLimits& limits, const std::string& kind) {
  const auto entry = limits.kinds.find(kind);
  if (entry == limits.kinds.end() || entry->second == to_string(Outcome::warn))
    return Outcome::warn;
  return entry->second == to_string(Outcome::fail) ? Outcome::fail : Outcome::pass;
}

// The window, or less where the kernel has dropped the lines of its beginning.
std::string what_was_read(const KernelLog& log, const Window& window) {
  const auto first_us = static_cast<double>(log.first_us);
  if (log.first_sequence == 0 || first_us <= window.from_us) return window.words;
  return fmt::format("since the oldest line that the kernel still has, {} ago",
                     in_time(std::max(0.0, window.now_us - first_us) / 1e6));
}

Remedy remedy_of(std::string_view name) {
  constexpr std::array kAllRemedies{Remedy::watch,
                                    Remedy::restart_app,
                                    Remedy::reset_gpu,
                                    Remedy::restart_service,
                                    Remedy::reboot,
                                    Remedy::reseat_or_replace,
                                    Remedy::fix_config,
                                    Remedy::report_to_provider};
  const auto found =
      std::ranges::find_if(kAllRemedies, [&](Remedy remedy) { return to_string(remedy) == name; });
  return found == kAllRemedies.end() ? Remedy::none : *found;
}

Finding describe(const std::string& kind,
                 const std::string& device,
                 const Incidents& incidents,
                 const Window& window) {
  const double ago_s = std::max(0.0, window.now_us - static_cast<double>(incidents.last_us)) / 1e6;
  return {.device = device,
          .message = fmt::format("{}: {} ({}) {}, the newest {} ago: \"{}\"",
                                 kind,
                                 counted(incidents.incidents, "incident"),
                                 counted(incidents.lines, "line"),
                                 window.words,
                                 in_time(ago_s),
                                 printable(incidents.newest, 200)),
          .observed = count_value(incidents.incidents),
          .limit = count_value(0),
          .unit = "incidents",
          .remedy = remedy_of(incidents.remedy)};
}

// Lines that were not seen could have said anything. They leave the check undecided, but take
// nothing from a fault that other lines prove.
void judge_gaps(const KernelLog& log, Findings& findings) {
  const bool failed =
      std::ranges::find(findings, Outcome::fail, &Finding::outcome) != findings.end();
  if (failed) return;
  std::string gap;
  if (log.truncated) {
    gap = fmt::format("reading stopped at the limit of size or time after {}",
                      counted(log.seen, "line"));
  } else if (log.lost > 0) {
    gap = fmt::format(
        "{} overwritten before muster could read them",
        log.lost == 1 ? std::string("1 line was") : fmt::format("{} lines were", log.lost));
  } else if (log.unparsable > 0) {
    gap = fmt::format(
        "{} of {} not in the kernel's form",
        log.unparsable == 1 ? std::string("1 line") : fmt::format("{} lines", log.unparsable),
        log.seen);
  }
  if (!gap.empty())
    findings.push_back(not_known(kNode, "all of the kernel log", Fact<int>::unreadable(gap)));
}

std::optional<Finding> not_here(const Snapshot& /*snapshot*/, const Profile& profile) {
  if (profile.host.kernel_log.patterns.empty()) return not_limited("the kernel log");
  return std::nullopt;
}

Findings judge(const Snapshot& snapshot, const Profile& profile) {
  const KernelLogLimits& limits = profile.host.kernel_log;
  const KernelLog& log = *snapshot.kernel_log;
  const Fact<double>& uptime = snapshot.identity->uptime_s;
  if (auto nothing = not_here(snapshot, profile)) return {*std::move(nothing)};
  if (!uptime) return {not_known(kNode, "the time since boot", uptime)};

  const Window window = window_of(*uptime, limits.window);
  Findings findings;
  for (const auto& [key, incidents] : collect(log, limits, window)) {
    const Outcome outcome = outcome_of(limits, key.first);
    if (outcome == Outcome::pass) continue;
    Finding finding = describe(key.first, key.second, incidents, window);
    finding.outcome = outcome;
    if (finding.remedy == Remedy::reseat_or_replace) finding.remedy = hardware_remedy(snapshot);
    findings.push_back(std::move(finding));
  }
  judge_gaps(log, findings);
  return or_pass(std::move(findings),
                 fmt::format("no faults reported {} ({} read)",
                             what_was_read(log, window),
                             counted(log.seen, "line")));
}

}  // namespace

constinit const Check host_kernel_log{
    .id = "host.kernel_log",
    .title = "The kernel reported no hardware, disk or file system faults",
    .why =
        "Searches what the kernel itself wrote to its log, in a window that never reaches back "
        "beyond the boot, for machine checks, PCIe errors, lockups, hung tasks, I/O and file "
        "system errors and out-of-memory kills. The patterns, and what each class counts as, "
        "stand in the profile. Lines of one class and device within seconds are one incident. "
        "Lines written by programs are ignored, and XIDs of GPUs are gpu.xid's.",
    .fix =
        "Read the lines around the one shown with dmesg -T or journalctl -k. What to do depends on "
        "the class: replace the part that a machine check or PCIe error names, repair the file "
        "system, find who used up the memory. A fault that was repaired ages out of the window, "
        "or ends with a reboot.",
    .needs = Probe::kernel_log | Probe::identity,
    .not_here = not_here,
    .judge = judge,
};

}  // namespace muster::checks
