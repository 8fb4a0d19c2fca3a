// SPDX-License-Identifier: Apache-2.0
// How peers reach an ACTIVE port: LID and GID, partition key, MTU and network interface.
#include <fmt/ranges.h>

#include <array>

#include "checks/catalogue.hpp"
#include "checks/ib/hcas.hpp"
#include "checks/shared/peers.hpp"

namespace muster::checks {
namespace {

bool has_only_zeros(const std::string& digits) {
  return digits.find_first_not_of("0:") == std::string::npos;
}

std::vector<std::string> wrong_addresses(const IbPort& port) {
  constexpr unsigned kPermissiveLid = 0xffff;
  constexpr unsigned kFirstMulticastLid = 0xc000;
  std::vector<std::string> wrong;
  const unsigned lid = port.lid.value_or(1);
  if (lid == 0 || lid == kPermissiveLid) {
    wrong.push_back(fmt::format("LID {:#x}: not assigned", lid));
  } else if (lid >= kFirstMulticastLid && lid < kPermissiveLid) {
    wrong.push_back(fmt::format("LID {:#x} is a multicast address", lid));
  }
  if (port.sm_lid.value_or(1) == 0) wrong.emplace_back("no subnet manager is known (SM LID 0)");
  if (port.gid0 && has_only_zeros(*port.gid0)) {
    wrong.emplace_back("GID 0 is empty");
  } else if (port.gid0 && has_only_zeros(ib::prefix_of(*port.gid0))) {
    wrong.push_back(fmt::format("GID {} has no subnet prefix", *port.gid0));
  }
  return wrong;
}

std::vector<std::string> unknown_addresses(const IbPort& port) {
  std::vector<std::string> unknown;
  const auto check_fact = [&](std::string_view what, const auto& fact) {
    if (!fact) unknown.push_back(fmt::format("{} is unknown: {}", what, fact.why()));
  };
  check_fact("the LID", port.lid);
  check_fact("the SM LID", port.sm_lid);
  check_fact("the GID", port.gid0);
  return unknown;
}

Findings judge_address(const Snapshot& snapshot, const Profile& profile) {
  const auto ports = ib::active_ports(snapshot, profile);
  Findings findings;
  std::vector<DeviceValue> prefixes;
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

bool is_wanted_key(unsigned key, PkeyWanted want) {
  constexpr unsigned kFullMember = 0x8000;
  constexpr unsigned kDefault = 0x7fff;  // also the mask of a key without the membership bit
  const unsigned base = key & kDefault;
  if ((key & kFullMember) == 0 || base == 0) return false;
  if (want == PkeyWanted::any_full_member) return true;
  return (base == kDefault) == (want == PkeyWanted::default_full_member);
}

std::string_view wanted_key_text(PkeyWanted want) {
  constexpr std::array<std::string_view, 3> kTexts{
      "full-member partition key other than the default",
      "full-member key of the default partition", "full-member partition key"};
  return kTexts.at(static_cast<std::size_t>(want));
}

std::string keys_text(const std::vector<unsigned>& keys) {
  return keys.empty() ? "none" : fmt::format("{:#06x}", fmt::join(keys, ", "));
}

Findings judge_pkey(const Snapshot& snapshot, const Profile& profile) {
  const PkeyWanted want = profile.ib->pkey.require;
  Findings findings;
  std::vector<DeviceValue> usable;
  for (const ib::PortOf& at : ib::active_ports(snapshot, profile)) {
    const auto& all = at.port->pkeys;
    if (!all) {
      findings.push_back(ib::about(at, Outcome::unknown,
                                   fmt::format("the partition keys are unknown: {}", all.why())));
      continue;
    }
    // Jobs use the keys at index 0 and 1.
    std::vector<unsigned> keys = *all;
    keys.resize(std::min<std::size_t>(keys.size(), 2));
    std::vector<unsigned> wanted = keys;
    std::erase_if(wanted, [&](unsigned key) { return !is_wanted_key(key, want); });
    const auto failure = [&](std::string_view count) {
      return ib::about(at, Outcome::fail,
                       fmt::format("{} {} at index 0 or 1: found {}", count, wanted_key_text(want),
                                   keys_text(keys)),
                       Remedy::report_to_provider, {keys_text(keys)});
    };
    const bool ambiguous =
        want == PkeyWanted::non_default_full_member && wanted.size() > 1 && wanted[0] != wanted[1];
    if (wanted.empty()) {
      findings.push_back(failure("no"));
    } else if (ambiguous) {
      findings.push_back(failure("more than one"));
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

// Only verbs report the MTU: sysfs has no file for it.
Findings judge_mtu(const Snapshot& snapshot, const Profile& profile) {
  const Limit<Bytes>& limit = profile.ib->mtu.active;
  if (!limit) return {not_expected("InfiniBand MTU")};
  if (!snapshot.verbs.ok()) return {skipped(snapshot.verbs.reason)};
  const auto expected = static_cast<std::uint64_t>(limit->value);
  Findings findings;
  std::size_t judged = 0;
  for (const ib::PortOf& at : ib::active_ports(snapshot, profile)) {
    const VerbsPort* port = ib::verbs_port(snapshot, at);
    if (port == nullptr) continue;  // reported by ib.verbs
    ++judged;
    if (port->active_mtu_bytes == expected) continue;
    const bool known = port->active_mtu_bytes != 0;
    findings.push_back(ib::about(
        at, known ? Outcome::warn : Outcome::unknown,
        known ? fmt::format("active MTU {} bytes, expected {}", port->active_mtu_bytes, expected)
              : "verbs report an unknown MTU",
        known ? Remedy::fix_config : Remedy::none,
        {count_value(port->active_mtu_bytes), count_value(expected), "B"}));
  }
  if (judged == 0) return {skipped("verbs open no ACTIVE port: see ib.verbs")};
  return or_pass(std::move(findings),
                 fmt::format("{} with an MTU of {} bytes", counted(judged, "port"), expected));
}

// ib.state reports ports that are not ACTIVE; their interfaces are down as well.
bool are_all_active(const Hca& hca) {
  return hca.ports && std::ranges::all_of(*hca.ports, [](const IbPort& port) {
           return port.state && *port.state == ib::kActive;
         });
}

const Interface* find_interface(const Snapshot& snapshot, const std::string& name) {
  const auto& all = snapshot.network->interfaces;
  const auto found = std::ranges::find(all, name, &Interface::name);
  return found == all.end() ? nullptr : &*found;
}

// Drivers that do not track the state report "unknown"; then the carrier decides.
bool is_interface_up(const Interface& interface) {
  return *interface.operstate == "up" ||
         (*interface.operstate == "unknown" && interface.carrier.value_or(false));
}

Findings judge_netdevs_of(const Snapshot& snapshot, const Hca& hca) {
  const auto not_up = [&](std::string message, Value observed = {}) {
    return warned(hca.name, std::move(message), Remedy::fix_config, {std::move(observed), "up"});
  };
  if (hca.netdevs.is_unreadable()) {
    return {not_known(hca.name, "the network interface", hca.netdevs)};
  }
  if (!hca.netdevs || hca.netdevs->empty()) {
    return {not_up("no network interface: ib_ipoib is not loaded or did not bind to the device")};
  }
  Findings findings;
  for (const std::string& name : *hca.netdevs) {
    const Interface* interface = find_interface(snapshot, name);
    if (interface == nullptr) {
      findings.push_back(not_up(fmt::format("interface {} does not exist", name)));
    } else if (!interface->operstate) {
      findings.push_back(not_known(hca.name, fmt::format("the state of interface {}", name),
                                   interface->operstate));
    } else if (!is_interface_up(*interface)) {
      const auto& state = *interface->operstate;
      findings.push_back(
          not_up(fmt::format("interface {} is {}, expected up", name, state), state));
    }
  }
  return findings;
}

Findings judge_netdev(const Snapshot& snapshot, const Profile& profile) {
  if (!snapshot.network.ok()) {
    return {unknown(
        kNode, fmt::format("the network interfaces are unknown: {}", snapshot.network.reason))};
  }
  Findings findings;
  std::size_t judged = 0;
  for (const Hca* hca : ib::hcas_of(snapshot, profile)) {
    if (!are_all_active(*hca)) continue;
    ++judged;
    append(findings, judge_netdevs_of(snapshot, *hca));
  }
  if (judged == 0) return {skipped("no HCA has all its ports ACTIVE: see ib.state")};
  return or_pass(std::move(findings),
                 fmt::format("{} with an interface that is up", counted(judged, "HCA")));
}

}  // namespace

constinit const Check ib_address::check = ib::check_of_hcas({
    .id = "ib.address",
    .title = "LID, subnet manager's LID and GID are assigned",
    .why =
        "Peers reach a port by its GID and by the LID that the subnet manager assigned. Without "
        "them, or with the prefix of another subnet, connections to other nodes fail although the "
        "link is up.",
    .fix = "Look at the subnet manager; restart the port (or reboot the node) so that it is "
           "configured again. In a cloud, report the node to the provider.",
    .judge = judge_address,
});

constinit const Check ib_pkey::check = ib::check_of_hcas({
    .id = "ib.pkey",
    .title = "All HCAs have the partition key that jobs need",
    .why =
        "Nodes reach each other only with a common partition key, as full members. On Azure the "
        "nodes of a tenant get their own key at index 0 or 1; on your own cluster the default "
        "partition is normal. A node with another key works alone, but every multi-node job on it "
        "hangs.",
    .fix = "Azure: report the node, or redeploy it into the right scale set or placement group. "
           "Elsewhere: correct the partition configuration of the subnet manager.",
    .judge = judge_pkey,
});

constinit const Check ib_mtu::check = ib::check_of_hcas({
    .id = "ib.mtu",
    .title = "InfiniBand ports have the expected active MTU",
    .why =
        "The subnet manager sets the MTU of a path to the smallest of its links. Below 4096 bytes, "
        "large messages need more packets and lose a few percent of bandwidth.",
    .fix =
        "Set the MTU in the partition configuration of the subnet manager, and look for the link "
        "on the path with the smaller MTU.",
    .needs = Probe::verbs,
    .judge = judge_mtu,
});

constinit const Check ib_netdev::check = ib::check_of_hcas({
    .id = "ib.netdev",
    .title = "Each HCA's network interface exists and is up",
    .why =
        "MPI and NCCL find their peers over IP, often over IPoIB, and RDMA connection management "
        "needs an address on the HCA's interface. A port may be ACTIVE while its interface is "
        "missing or down.",
    .fix = "Load ib_ipoib and bring the interface up (ip link set ib0 up); look at the network "
           "configuration.",
    .needs = Probe::network,
    .judge = judge_netdev,
});

}  // namespace muster::checks
