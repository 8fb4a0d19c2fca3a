// SPDX-License-Identifier: Apache-2.0
// Every ACTIVE port has its own LID, knows its subnet manager, and has a GID of the same subnet.
#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

#include "checks/catalogue.hpp"
#include "checks/ib/hcas.hpp"
#include "checks/shared/agreement.hpp"
#include "lib/profile/limits/ib.hpp"

namespace muster::checks::ib_address {
namespace {

constexpr unsigned kPermissiveLid = 0xffff;
constexpr unsigned kFirstMulticastLid = 0xc000;

bool is_zero(const std::string& digits) {
  return digits.find_first_not_of("0:") == std::string::npos;
}

std::vector<std::string> wrong_addresses(const IbPort& port) {
  std::vector<std::string> wrong;
  const unsigned lid = port.lid.value_or(1);
  if (lid == 0 || lid == kPermissiveLid) {
    wrong.push_back(fmt::format("LID {:#x}: not assigned", lid));
  } else if (lid >= kFirstMulticastLid && lid < kPermissiveLid) {
    wrong.push_back(fmt::format("LID {:#x} is a multicast address", lid));
  }
  if (port.sm_lid.value_or(1) == 0) wrong.emplace_back("no subnet manager is known (SM LID 0)");
  if (port.gid0 && is_zero(*port.gid0)) {
    wrong.emplace_back("GID 0 is empty");
  } else if (port.gid0 && is_zero(ib::prefix_of(*port.gid0))) {
    wrong.push_back(fmt::format("GID {} has no subnet prefix", *port.gid0));
  }
  return wrong;
}

std::vector<std::string> unknown_addresses(const IbPort& port) {
  std::vector<std::string> unknown;
  if (!port.lid) unknown.push_back(fmt::format("the LID is not known: {}", port.lid.why()));
  if (!port.sm_lid)
    unknown.push_back(fmt::format("the SM LID is not known: {}", port.sm_lid.why()));
  if (!port.gid0) unknown.push_back(fmt::format("the GID is not known: {}", port.gid0.why()));
  return unknown;
}

Findings judge(const Snapshot& snapshot, const Profile& profile) {
  const auto ports = ib::active_ports(snapshot, profile);
  Findings findings;
  std::vector<Said> prefixes;
  for (const ib::PortOf& at : ports) {
    const auto wrong = wrong_addresses(*at.port);
    const auto unknown = unknown_addresses(*at.port);
    if (!wrong.empty()) {
      findings.push_back(ib::about(at, Outcome::fail, fmt::format("{}", fmt::join(wrong, "; ")),
                                   Remedy::report_to_provider, {wrong.front()}));
    } else if (!unknown.empty()) {
      findings.push_back(
          ib::about(at, Outcome::unknown, fmt::format("{}", fmt::join(unknown, "; "))));
    } else {
      prefixes.push_back({at.hca->name, ib::prefix_of(*at.port->gid0)});
    }
  }
  if (profile.ib->address.same_prefix) {
    append(findings,
           disagreements(prefixes, {.what = "subnet prefix", .devices = "HCAs"},
                         {.outcome = Outcome::fail, .remedy = Remedy::report_to_provider}));
  }
  return or_pass(std::move(findings),
                 fmt::format("{} with LID, subnet manager and GID", counted(ports.size(), "port")));
}

}  // namespace

constinit const Check check{
    .id = "ib.address",
    .title = "LID, subnet manager's LID and GID are assigned",
    .why =
        "A port is reached by the LID that the subnet manager gave it and by its GID. Without "
        "them, or with the prefix of another subnet, connections to other nodes fail although the "
        "link is up.",
    .fix =
        "Look at the subnet manager; restart the port (or reboot the node) so that it is "
        "configured again. In a cloud report the node to the provider.",
    .needs = Probe::infiniband | Probe::identity,
    .when_absent = WhenAbsent::judge,
    .not_here = ib::no_active_ports,
    .judge = judge,
};

}  // namespace muster::checks::ib_address
