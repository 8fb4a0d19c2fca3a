// SPDX-License-Identifier: Apache-2.0
// Each port has the partition key that jobs need at index 0 or 1, and all HCAs have the same one.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "checks/catalogue.hpp"
#include "checks/ib/hcas.hpp"
#include "checks/shared/agreement.hpp"
#include "lib/profile/limits/ib.hpp"

namespace muster::checks::ib_pkey {
namespace {

constexpr unsigned kFullMember = 0x8000;
constexpr unsigned kBase =
    0x7fff;  // the default partition, and the mask of a key without membership

bool is_wanted(unsigned key, PkeyWanted want) {
  const unsigned base = key & kBase;
  if ((key & kFullMember) == 0 || base == 0) return false;
  if (want == PkeyWanted::any_full_member) return true;
  return (base == kBase) == (want == PkeyWanted::default_full_member);
}

std::string_view describe_want(PkeyWanted want) {
  switch (want) {
    case PkeyWanted::non_default_full_member:
      return "full-member partition key other than the default";
    case PkeyWanted::default_full_member:
      return "full-member key of the default partition";
    case PkeyWanted::any_full_member:
      break;
  }
  return "full-member partition key";
}

std::string to_text(const std::vector<unsigned>& keys) {
  return keys.empty() ? "none" : fmt::format("{:#06x}", fmt::join(keys, ", "));
}

Finding failed(const ib::PortOf& at, std::string message, const std::vector<unsigned>& keys) {
  return ib::about(at, Outcome::fail, std::move(message), Remedy::report_to_provider,
                   {to_text(keys)});
}

Findings judge(const Snapshot& snapshot, const Profile& profile) {
  const PkeyWanted want = profile.ib->pkey.require;
  Findings findings;
  std::vector<Said> usable;
  for (const ib::PortOf& at : ib::active_ports(snapshot, profile)) {
    const auto& all = at.port->pkeys;
    if (!all) {
      findings.push_back(ib::about(at, Outcome::unknown,
                                   fmt::format("the partition keys are not known: {}", all.why())));
      continue;
    }
    // What jobs can use: they look at index 0 and 1.
    std::vector<unsigned> keys = *all;
    keys.resize(std::min<std::size_t>(keys.size(), 2));
    std::vector<unsigned> wanted = keys;
    std::erase_if(wanted, [&](unsigned key) { return !is_wanted(key, want); });
    if (wanted.empty()) {
      findings.push_back(failed(
          at, fmt::format("no {} at index 0 or 1: found {}", describe_want(want), to_text(keys)),
          keys));
    } else if (want == PkeyWanted::non_default_full_member && wanted.size() > 1 &&
               wanted[0] != wanted[1]) {
      findings.push_back(failed(
          at,
          fmt::format("more than one {} at index 0 and 1: {}", describe_want(want), to_text(keys)),
          keys));
    } else {
      usable.push_back({at.hca->name, fmt::format("{:#06x}", wanted.front())});
    }
  }
  append(findings, disagreements(usable, {.what = "partition key", .devices = "HCAs"},
                                 {.outcome = Outcome::fail, .remedy = Remedy::report_to_provider}));
  return or_pass(std::move(findings), usable.empty() ? std::string()
                                                     : fmt::format("{} with partition key {}",
                                                                   counted(usable.size(), "port"),
                                                                   usable.front().value));
}

}  // namespace

constinit const Check check{
    .id = "ib.pkey",
    .title = "The partition key that jobs need is there, the same on all HCAs",
    .why =
        "Nodes reach each other only with a common partition key, as full members. On Azure a "
        "tenant's nodes get a key of their own at index 0 or 1; on a cluster of one's own the "
        "default partition is normal. A node with another key works alone and hangs every job of "
        "two nodes.",
    .fix =
        "Azure: report the node, or redeploy it into the right scale set or placement. Elsewhere: "
        "the subnet manager's partition configuration.",
    .needs = Probe::infiniband | Probe::identity,
    .when_absent = WhenAbsent::judge,
    .not_here = ib::no_active_ports,
    .judge = judge,
};

}  // namespace muster::checks::ib_pkey
