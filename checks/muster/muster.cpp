// SPDX-License-Identifier: Apache-2.0
// muster's own probes and state.

#include "checks/catalogue.hpp"
#include "checks/shared/support.hpp"

namespace muster::checks {
namespace {

// muster.probes: every probe answered. A probe that hangs points to a fault of the node.

// Settings may name files on a file server.
constexpr ProbeSet kReadsNamedFiles = Probe::environment;

// A process that hangs in a driver or device only ends with a reboot.
constexpr ProbeSet kUsesDrivers = Probe::mounts | Probe::disks | Probe::processes |
                                  Probe::kernel_log | Probe::network | Probe::pci |
                                  Probe::infiniband | Probe::verbs | Probe::topology | Probe::nvml;

Remedy remedy_of(Probe probe) {
  if (kReadsNamedFiles.contains(probe)) return Remedy::fix_config;
  return kUsesDrivers.contains(probe) ? Remedy::reboot : Remedy::watch;
}

std::string message_of(Probe probe, bool timeout, const std::string& reason) {
  if (!timeout) return fmt::format("the {} probe failed: {}", to_string(probe), reason);
  return fmt::format(
      "the {} probe timed out: {}{}", to_string(probe), reason,
      kReadsNamedFiles.contains(probe) ? "; check the file systems in NCCL's settings" : "");
}

Findings judge_probes(const Snapshot& snapshot, const Profile& profile) {
  Findings findings;
  int answered = 0;
  for_each_section(snapshot, [&](Probe probe, const auto& section) {
    if (!section.asked()) return;
    if (section.ok() || section.status == Status::absent) {
      ++answered;
      return;
    }
    const std::string name{to_string(probe)};
    const bool timeout = section.status == Status::timeout;
    const bool fatal = timeout && std::ranges::count(profile.muster->probes.fatal, name) > 0;
    Finding finding = about(
        name, fatal ? Outcome::fail : Outcome::unknown, message_of(probe, timeout, section.reason),
        timeout ? remedy_of(probe) : Remedy::none, {std::string(to_string(section.status)), "ok"});
    // Azure's code for a GPU driver that hangs; the runner keeps it for failures only.
    if (probe == Probe::nvml) finding.code = "NHC2015";
    if (timeout) leave_undecided(snapshot, finding);
    findings.push_back(std::move(finding));
  });
  if (findings.empty() && answered == 0) return {skipped("no probe was run")};
  return or_pass(std::move(findings), fmt::format("all {} probes answered", answered));
}

// muster.state: the state that earlier runs saved is usable. If not, rates restart.

Findings judge_state(const Snapshot& snapshot, const Profile& /*profile*/) {
  const Earlier& earlier = snapshot.earlier;
  if (!earlier.note.empty()) return {skipped(earlier.note)};
  if (earlier.last_uptime_s <= 0) {
    return {skipped("no earlier run in this boot: the next run can judge rates")};
  }
  return {passed("state of earlier runs is usable")};
}

}  // namespace

constinit const Check muster_probes::check{
    .id = "muster.probes",
    .title = "Every probe answered in time",
    .why =
        "Each part of the node is observed by a probe in its own process, with a deadline. A probe "
        "that times out met a device or file system that hangs: a GPU that fell off the bus blocks "
        "its driver, a dead file server blocks statfs. Facts from that probe are unknown, and the "
        "hang itself fails the node if the profile lists the probe as fatal. On a node with far "
        "more tasks than CPUs, without free memory, or whose kernel files take seconds to read, a "
        "missed deadline is meaningless and the outcome unknown. A probe whose child of an earlier "
        "run still hangs is not tried again.",
    .fix =
        "Look in the kernel log for the device that hangs, and for the environment probe at the "
        "file systems named by NCCL's settings and the profile. A process that cannot be killed "
        "only ends with a reboot. A probe that failed without hanging reports what it could not "
        "read; run `muster snapshot` as root for details.",
    .needs = {},
    .when_absent = WhenAbsent::judge,
    .judge = judge_probes,
};

constinit const Check muster_state::check{
    .id = "muster.state",
    .title = "The state of earlier runs is usable",
    .why =
        "Error rates, link flaps and stuck tasks are differences from earlier runs, which a state "
        "file stores. An unreadable state file, or one of another boot, is set aside: rates "
        "restart, and this is reported once. It never fails a node.",
    .fix =
        "Nothing, after a reboot. If the state file is set aside repeatedly, look for a full or "
        "failing disk, or two versions of muster on one node.",
    .needs = {},
    .when_absent = WhenAbsent::judge,
    .judge = judge_state,
};

}  // namespace muster::checks
