// SPDX-License-Identifier: Apache-2.0
// A probe that did not answer is a finding of its own: it is a fault, not a gap.
#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "checks/catalogue.hpp"

namespace muster::checks {
namespace {

Findings judge(const Snapshot& snapshot, const Profile& profile) {
  Findings findings;
  int answered = 0;
  for_each_section(snapshot, [&](Probe probe, const auto& section) {
    if (section.ok() || section.status == Status::absent) {
      ++answered;
      return;
    }
    const std::string name{to_string(probe)};
    const bool timeout = section.status == Status::timeout;
    const bool fatal = timeout && std::ranges::count(profile.muster.probes.fatal, name) > 0;
    findings.push_back(
        {.device = name,
         .outcome = fatal ? Outcome::fail : Outcome::unknown,
         .message = fmt::format(
             "the {} probe {}: {}", name, timeout ? "did not answer" : "failed", section.reason),
         .observed = std::string(to_string(section.status)),
         .limit = std::string("ok"),
         .remedy = timeout ? Remedy::reboot : Remedy::none});
  });
  if (findings.empty()) {
    findings.push_back({.device = "node",
                        .outcome = Outcome::pass,
                        .message = fmt::format("all {} probes answered", answered)});
  }
  return findings;
}

}  // namespace

constinit const Check muster_probes{
    .id = "muster.probes",
    .title = "Every probe answered in time",
    .why =
        "Each part of the node is observed by a probe in a process of its own, with a deadline. A "
        "probe that does not answer met something that hangs: a GPU that fell off the bus blocks "
        "its driver, a dead file server blocks statfs. What it should have told is unknown, and "
        "the hang itself is a fault of the node where the profile lists the probe as fatal.",
    .fix =
        "Look at the kernel log for the device that hangs. A process that cannot be killed goes "
        "away with a reboot only. A probe that failed (rather than hung) says what it could not "
        "read; run `muster snapshot` as root to see it whole.",
    .needs = {},
    .when_absent = WhenAbsent::judge,
    .judge = judge,
};

}  // namespace muster::checks
