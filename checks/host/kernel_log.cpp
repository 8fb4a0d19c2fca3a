// SPDX-License-Identifier: Apache-2.0
// host.kernel_log: what the kernel reported about failing hardware, disks and file systems.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "checks/catalogue.hpp"
#include "checks/shared/kernel_faults.hpp"
#include "checks/shared/kernel_window.hpp"
#include "checks/shared/support.hpp"
#include "lib/base/text.hpp"
#include "lib/profile/limits/host.hpp"

namespace muster::checks::host_kernel_log {
namespace {

// "; with it pcie_recovery (1 line), io_error (12 lines)": what the cause brought about.
std::string consequences(const KernelFault& fault, const std::string& cause) {
  std::vector<std::string> others;
  for (const auto& [kind, lines] : fault.classes) {
    if (kind != cause) others.push_back(fmt::format("{} ({})", kind, counted(lines.lines, "line")));
  }
  return others.empty() ? std::string() : fmt::format("; with it {}", fmt::join(others, ", "));
}

Finding describe(const Snapshot& snapshot, const KernelLogLimits& limits, const KernelFault& fault,
                 const LogWindow& window) {
  const std::string cause = cause_of(limits, fault);
  const ClassLines& lines = fault.classes.at(cause);
  const double ago_s = std::max(0.0, window.now_us - static_cast<double>(lines.last_us)) / 1e6;
  Finding finding = about(
      fault.name, outcome_of(limits.kinds, cause),
      fmt::format("{}: {} ({}) {}, the newest {} ago: \"{}\"{}", cause,
                  counted(lines.incidents, "incident"), counted(lines.lines, "line"), window.words,
                  in_time(ago_s), printable(lines.newest, 200), consequences(fault, cause)),
      remedy_here(snapshot, lines.remedy), {count_value(lines.incidents), 0, "incidents"});
  finding.seen_by = seen_by(snapshot, fault);
  if (!fault.image.empty()) {
    finding.outcome = Outcome::warn;
    finding.remedy = Remedy::watch;
    finding.message.append(fmt::format("; {}, which may be a user's", fault.image));
  }
  return finding;
}

std::optional<Finding> not_here(const Snapshot& /*snapshot*/, const Profile& profile) {
  if (profile.host->kernel_log.patterns.empty()) return not_limited("the kernel log");
  return std::nullopt;
}

Findings judge(const Snapshot& snapshot, const Profile& profile) {
  const KernelLogLimits& limits = profile.host->kernel_log;
  const KernelLog& log = *snapshot.kernel_log;
  const Fact<double>& uptime = snapshot.identity->uptime_s;
  if (!uptime) return {not_known(kNode, "the time since boot", uptime)};

  const LogWindow window = window_of(*uptime, limits.window);
  Findings findings;
  for (const KernelFault& fault : faults_of(snapshot, limits, window.from_us)) {
    findings.push_back(describe(snapshot, limits, fault, window));
  }
  judge_gaps(log, "all of the kernel log", findings);
  return or_pass(std::move(findings),
                 fmt::format("no faults reported {} ({} read)", what_was_read(log, window),
                             counted(log.seen, "line")));
}

}  // namespace

constinit const Check check{
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
        "written by programs are ignored, and XIDs of GPUs are gpu.xid's. Damage in a disk image "
        "(a loop device, or one of the device mapper on it) only warns: it may be a user's.",
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

}  // namespace muster::checks::host_kernel_log
