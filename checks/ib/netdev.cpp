// SPDX-License-Identifier: Apache-2.0
// Every HCA has its network interface (IPoIB), and it is up: out-of-band connections use it.
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>

#include "checks/catalogue.hpp"
#include "checks/ib/hcas.hpp"

namespace muster::checks::ib_netdev {
namespace {

// An interface goes with its port: where one is not ACTIVE that is ib.state's.
bool all_active(const Hca& hca) {
  return hca.ports && std::ranges::all_of(*hca.ports, [](const IbPort& port) {
           return port.state && *port.state == ib::kActive;
         });
}

const Interface* interface_of(const Snapshot& snapshot, const std::string& name) {
  const auto& all = snapshot.network->interfaces;
  const auto found = std::ranges::find(all, name, &Interface::name);
  return found == all.end() ? nullptr : &*found;
}

// Drivers that do not keep the state say "unknown"; then the carrier decides.
bool is_up(const Interface& interface) {
  return *interface.operstate == "up" ||
         (*interface.operstate == "unknown" && interface.carrier.value_or(false));
}

Finding not_up(const Hca& hca, std::string message, Value observed = {}) {
  return warned(hca.name, std::move(message), Remedy::fix_config, {std::move(observed), "up"});
}

Findings judge_hca(const Snapshot& snapshot, const Hca& hca) {
  if (hca.netdevs.is_unreadable())
    return {not_known(hca.name, "its network interface", hca.netdevs)};
  if (!hca.netdevs || hca.netdevs->empty()) {
    return {not_up(hca, "no network interface: ib_ipoib is not loaded or did not take the device")};
  }
  Findings findings;
  for (const std::string& name : *hca.netdevs) {
    const Interface* interface = interface_of(snapshot, name);
    if (interface == nullptr) {
      findings.push_back(not_up(hca, fmt::format("interface {} does not exist", name)));
    } else if (!interface->operstate) {
      findings.push_back(not_known(hca.name, fmt::format("the state of interface {}", name),
                                   interface->operstate));
    } else if (!is_up(*interface)) {
      findings.push_back(not_up(hca, fmt::format("interface {} is {}", name, *interface->operstate),
                                *interface->operstate));
    }
  }
  return findings;
}

Findings judge(const Snapshot& snapshot, const Profile& profile) {
  if (!snapshot.network.ok()) {
    return {unknown(
        kNode, fmt::format("the network interfaces are not known: {}", snapshot.network.reason))};
  }
  Findings findings;
  std::size_t judged = 0;
  for (const Hca* hca : ib::hcas_of(snapshot, profile)) {
    if (!all_active(*hca)) continue;
    ++judged;
    append(findings, judge_hca(snapshot, *hca));
  }
  if (judged == 0) return {skipped("no HCA has all its ports ACTIVE: ib.state judges that")};
  return or_pass(std::move(findings),
                 fmt::format("{} with an interface that is up", counted(judged, "HCA")));
}

}  // namespace

constinit const Check check{
    .id = "ib.netdev",
    .title = "Each HCA's network interface exists and is up",
    .why =
        "MPI and NCCL find their peers over IP, often over IPoIB, and RDMA connection management "
        "needs an address on the HCA's interface. The port may be ACTIVE while its interface is "
        "missing or down.",
    .fix =
        "Load ib_ipoib and bring the interface up (ip link set ib0 up); look at the network "
        "configuration.",
    .needs = Probe::infiniband | Probe::network | Probe::identity,
    .when_absent = WhenAbsent::judge,
    .not_here = ib::no_active_ports,
    .judge = judge,
};

}  // namespace muster::checks::ib_netdev
