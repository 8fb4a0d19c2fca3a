// SPDX-License-Identifier: Apache-2.0
// host.kernel_log: what the kernel reported about failing hardware, disks and file systems.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "checks/catalogue.hpp"
#include "checks/kernel_faults.hpp"
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
  const auto* found =
      std::ranges::find_if(kAllRemedies, [&](Remedy remedy) { return to_string(remedy) == name; });
  return found == kAllRemedies.end() ? Remedy::none : *found;
}

// Patterns speak of parts; under a hypervisor these are the provider's.
Remedy remedy_here(const Snapshot& snapshot, std::string_view name) {
  const Remedy remedy = remedy_of(name);
  return remedy == Remedy::reseat_or_replace ? hardware_remedy(snapshot) : remedy;
}

// "; with it pcie_recovery (1 line), io_error (12 lines)": what the cause brought about.
std::string consequences(const KernelFault& fault, const std::string& cause) {
  std::vector<std::string> others;
  for (const auto& [kind, lines] : fault.classes) {
    if (kind != cause) others.push_back(fmt::format("{} ({})", kind, counted(lines.lines, "line")));
  }
  return others.empty() ? std::string() : fmt::format("; with it {}", fmt::join(others, ", "));
}

Finding describe(const Snapshot& snapshot,
                 const KernelLogLimits& limits,
                 const KernelFault& fault,
                 const Window& window) {
  const std::string cause = cause_of(limits, fault);
  const ClassLines& lines = fault.classes.at(cause);
  const double ago_s = std::max(0.0, window.now_us - static_cast<double>(lines.last_us)) / 1e6;
  return {.device = fault.name,
          .outcome = outcome_of(limits, cause),
          .message = fmt::format("{}: {} ({}) {}, the newest {} ago: \"{}\"{}",
                                 cause,
                                 counted(lines.incidents, "incident"),
                                 counted(lines.lines, "line"),
                                 window.words,
                                 in_time(ago_s),
                                 printable(lines.newest, 200),
                                 consequences(fault, cause)),
          .observed = count_value(lines.incidents),
          .limit = count_value(0),
          .unit = "incidents",
          .remedy = remedy_here(snapshot, lines.remedy),
          .seen_by = seen_by(snapshot, fault)};
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
  if (!uptime) return {not_known(kNode, "the time since boot", uptime)};

  const Window window = window_of(*uptime, limits.window);
  Findings findings;
  for (const KernelFault& fault : faults_of(snapshot, limits, window.from_us)) {
    findings.push_back(describe(snapshot, limits, fault, window));
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
        "stand in the profile. Lines of one class and device within seconds are one incident, and "
        "all that one fault of a PCIe device, of memory or of a disk brings about is one finding, "
        "named by its cause: the ports above a device, its partitions and file systems included. "
        "Where pci.errors, pci.devices, host.edac or host.nvme find the same fault in the "
        "hardware's own counters and states, the log's word is skipped in favour of theirs. Lines "
        "written by programs are ignored, and XIDs of GPUs are gpu.xid's.",
    .fix =
        "Read the lines around the one shown with dmesg -T or journalctl -k. What to do depends on "
        "the class: replace the part that a machine check or PCIe error names, repair the file "
        "system, find who used up the memory. A fault that was repaired ages out of the window, "
        "or ends with a reboot.",
    .needs = Probe::kernel_log | Probe::identity,
    .looks_at = Probe::pci | Probe::disks,  // what belongs together
    .not_here = not_here,
    .judge = judge,
};

}  // namespace muster::checks
