// SPDX-License-Identifier: Apache-2.0
// host.kernel_log: faults of hardware, disks and file systems in the kernel log.
#include "checks/shared/kernel_log.hpp"

#include <fmt/ranges.h>

#include "checks/catalogue.hpp"
#include "checks/shared/support.hpp"

namespace muster::checks::host_kernel_log {
namespace {

// "; with it pcie_recovery (1 line), io_error (12 lines)".
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
  const auto ago = in_time(std::max(0.0, window.now_us - static_cast<double>(lines.last_us)) / 1e6);
  const auto how_often =
      lines.incidents == 1 && lines.lines == 1
          ? fmt::format("once {}, {} ago", window.words, ago)
          : fmt::format("{} ({}) {}, latest {} ago", counted(lines.incidents, "incident"),
                        counted(lines.lines, "line"), window.words, ago);
  // The line that is shown must name the part of the node.
  const bool named = fault.device != kNode || device_of_line(lines.newest) != kNode;
  Finding finding =
      about(named ? fault.name : std::string(kNode), outcome_of(limits.kinds, cause),
            fmt::format("{}: {}: \"{}\"{}", cause, how_often, printable(lines.newest, 200),
                        consequences(fault, cause)),
            remedy_here(snapshot, lines.remedy), {count_value(lines.incidents), 0, "incidents"});
  finding.seen_by = seen_by(snapshot, fault);
  if (!fault.image.empty()) {
    finding.outcome = Outcome::warn;
    finding.remedy = Remedy::watch;
    finding.message.append(fmt::format("; {}, which may belong to a user", fault.image));
  }
  return finding;
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
  judge_gaps(log, "the rest of the kernel log", findings);
  return or_pass(std::move(findings),
                 fmt::format("no faults reported {} ({} read)", what_was_read(log, window),
                             counted(log.seen, "line")));
}

}  // namespace

constinit const Check check{
    .id = "host.kernel_log",
    .title = "The kernel reported no hardware, disk or file system faults",
    .why =
        "Searches the kernel's own lines in its log, within a window that starts at boot at the "
        "earliest, for machine checks, PCIe errors, lockups, hung tasks, I/O and file system "
        "errors and out-of-memory kills. The profile defines the patterns and the outcome of each "
        "class. Lines of one class and device within seconds are one incident, and all "
        "consequences of one fault of a PCIe device, memory or a disk (in ports above the device, "
        "partitions, file systems) are one finding, named by the cause. If pci.errors, "
        "pci.devices, host.edac or host.nvme find the same fault in counters and states of the "
        "hardware, only they report it. Lines written by programs are ignored, and gpu.xid judges "
        "XIDs of GPUs. Damage in a disk image (a loop device, or a device mapper on it) only "
        "warns: it may belong to a user.",
    .fix =
        "Read the lines around the one shown with dmesg -T or journalctl -k. The action depends on "
        "the class: replace the part that a machine check or PCIe error names, repair the file "
        "system, find out what used up the memory. A repaired fault ages out of the window or ends "
        "with a reboot.",
    .needs = Probe::kernel_log | Probe::identity,
    .looks_at = Probe::pci | Probe::disks,  // what belongs together
    .is_limited = [](const Profile& profile) { return !profile.host->kernel_log.patterns.empty(); },
    .unlimited = "this profile sets no limit for the kernel log",
    .judge = judge,
};

}  // namespace muster::checks::host_kernel_log
