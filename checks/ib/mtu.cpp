// SPDX-License-Identifier: Apache-2.0
// The active MTU of every ACTIVE port. Only verbs tell it: sysfs has no file for it.
#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <utility>

#include "checks/catalogue.hpp"
#include "checks/ib/hcas.hpp"
#include "lib/profile/limits/ib.hpp"

namespace muster::checks::ib_mtu {
namespace {

Findings judge(const Snapshot& snapshot, const Profile& profile) {
  const Limit<Bytes>& limit = profile.ib->mtu.active;
  if (!limit) return {not_expected("InfiniBand MTU")};
  if (!snapshot.verbs.ok()) return {skipped(snapshot.verbs.reason)};

  const auto expected = static_cast<std::uint64_t>(limit->value);
  Findings findings;
  std::size_t judged = 0;
  for (const ib::PortOf& at : ib::active_ports(snapshot, profile)) {
    const VerbsPort* port = ib::verbs_port(snapshot, at);
    if (port == nullptr) continue;  // not listed or not opened: ib.verbs'
    ++judged;
    if (port->active_mtu_bytes == expected) continue;
    const bool known = port->active_mtu_bytes != 0;
    findings.push_back(ib::about(
        at, known ? Outcome::warn : Outcome::unknown,
        known ? fmt::format("active MTU {} bytes, expected {}", port->active_mtu_bytes, expected)
              : "verbs give an MTU that means nothing to muster",
        known ? Remedy::fix_config : Remedy::none,
        {count_value(port->active_mtu_bytes), count_value(expected), "B"}));
  }
  if (judged == 0) return {skipped("verbs open no ACTIVE port: ib.verbs judges that")};
  return or_pass(std::move(findings),
                 fmt::format("{} with an MTU of {} bytes", counted(judged, "port"), expected));
}

}  // namespace

constinit const Check check{
    .id = "ib.mtu",
    .title = "The active MTU of InfiniBand ports",
    .why =
        "The subnet manager sets the MTU of a path to what its slowest link allows. Below 4096 "
        "bytes large messages cost more packets and a few percent of bandwidth.",
    .fix =
        "Set the MTU in the subnet manager's partition configuration, and look for the link on the "
        "path that allows less.",
    .needs = Probe::infiniband | Probe::verbs | Probe::identity,
    .when_absent = WhenAbsent::judge,
    .not_here = ib::no_active_ports,
    .judge = judge,
};

}  // namespace muster::checks::ib_mtu
