// SPDX-License-Identifier: Apache-2.0
// A probe that did not answer is a finding of its own: it is a fault, not a gap.
#include "lib/profile/limits/probes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "checks/catalogue.hpp"
#include "checks/shared/starved.hpp"
#include "checks/shared/support.hpp"

namespace muster::checks::muster_probes {
namespace {

// Files that settings name lie wherever the settings say, on a file server as well.
constexpr ProbeSet kReadsNamedFiles = Probe::environment;

// These ask drivers and devices, and what hangs there only ends with a reboot.
constexpr ProbeSet kAsksDrivers = Probe::mounts | Probe::disks | Probe::processes |
                                  Probe::kernel_log | Probe::network | Probe::pci |
                                  Probe::infiniband | Probe::verbs | Probe::topology | Probe::nvml;

Remedy remedy_of(Probe probe) {
  if (kReadsNamedFiles.contains(probe)) return Remedy::fix_config;
  return kAsksDrivers.contains(probe) ? Remedy::reboot : Remedy::watch;
}

std::string message_of(Probe probe, bool timeout, const std::string& reason) {
  if (!timeout) return fmt::format("the {} probe failed: {}", to_string(probe), reason);
  return fmt::format("the {} probe did not answer: {}{}", to_string(probe), reason,
                     kReadsNamedFiles.contains(probe)
                         ? "; look at the file systems that NCCL's settings name"
                         : "");
}

Findings judge(const Snapshot& snapshot, const Profile& profile) {
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
    // Azure's code for GPUs whose driver does not answer; the runner keeps it with failures only.
    if (probe == Probe::nvml) finding.code = "NHC2015";
    if (timeout) leave_undecided(snapshot, finding);
    findings.push_back(std::move(finding));
  });
  if (findings.empty() && answered == 0) return {skipped("no probe was run")};
  return or_pass(std::move(findings), fmt::format("all {} probes answered", answered));
}

}  // namespace

constinit const Check check{
    .id = "muster.probes",
    .title = "Every probe answered in time",
    .why =
        "Each part of the node is observed by a probe in a process of its own, with a deadline. A "
        "probe that does not answer met something that hangs: a GPU that fell off the bus blocks "
        "its driver, a dead file server blocks statfs. What it should have told is unknown, and "
        "the hang itself is a fault of the node where the profile lists the probe as fatal. On a "
        "node with far more tasks than processors, or without memory, a deadline that was missed "
        "says nothing, and is unknown. A probe whose child of an earlier run still hangs is not "
        "tried again.",
    .fix =
        "Look at the kernel log for the device that hangs, and for the environment probe at the "
        "file systems that NCCL's settings and the profile name. A process that cannot be killed "
        "goes away with a reboot only. A probe that failed (rather than hung) says what it could "
        "not read; run `muster snapshot` as root to see it whole.",
    .needs = {},
    .when_absent = WhenAbsent::judge,
    .judge = judge,
};

}  // namespace muster::checks::muster_probes
