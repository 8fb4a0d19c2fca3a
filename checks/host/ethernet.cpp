// SPDX-License-Identifier: Apache-2.0
// host.ethernet: the network interfaces of the profile exist, are up and run at full speed.

#include <fmt/format.h>

#include <optional>
#include <string>
#include <utility>

#include "checks/catalogue.hpp"
#include "checks/shared/support.hpp"
#include "lib/base/text.hpp"
#include "lib/profile/limits/host.hpp"

namespace muster::checks::host_ethernet {
namespace {

// Empty if unknown. Some drivers always report the state "unknown" but have a carrier.
std::optional<bool> is_up(const Interface& interface) {
  if (interface.operstate && *interface.operstate == "up") return true;
  if (interface.carrier) return *interface.carrier;
  if (interface.operstate) return false;
  return std::nullopt;
}

std::optional<Finding> judge_speed(const Interface& interface, BitsPerSecond expected) {
  if (!interface.speed_mbps) {
    return not_known(interface.name, "the speed of the interface", interface.speed_mbps);
  }
  const auto seen = static_cast<double>(*interface.speed_mbps) * 1e6;
  if (seen >= expected.value) return std::nullopt;
  return failed(interface.name,
                fmt::format("{} runs at {:g} Gb/s, expected {:g} Gb/s", interface.name, seen / 1e9,
                            expected.value / 1e9),
                Remedy::fix_config, {seen / 1e9, expected.value / 1e9, "Gb/s"});
}

std::optional<Finding> judge_interface(const Interface& interface,
                                       const EthernetInterface& expected) {
  const auto up = is_up(interface);
  if (!up) return not_known(interface.name, "whether the interface is up", interface.operstate);
  if (*up) return expected.speed ? judge_speed(interface, *expected.speed) : std::nullopt;
  const std::string state = printable(interface.operstate.value_or("without carrier"));
  return failed(interface.name, fmt::format("{} is {}, expected up", interface.name, state),
                Remedy::fix_config, {state, "up"});
}

// Matches by name of the interface or its RDMA device; `rdma` matches any Ethernet RDMA device,
// because images name them differently.
bool matches_limit(const Interface& interface, const EthernetInterface& expected) {
  constexpr unsigned kEthernet = 1;
  if (matches_glob(expected.name, interface.name)) return true;
  if (interface.hca.empty()) return false;
  return matches_glob(expected.name, interface.hca) ||
         (expected.rdma && interface.type && *interface.type == kEthernet);
}

Findings judge(const Snapshot& snapshot, const Profile& profile) {
  const auto& limits = profile.host->ethernet.interfaces;

  Findings findings;
  std::size_t judged = 0;
  for (const auto& expected : limits) {
    bool found = false;
    for (const auto& interface : snapshot.network->interfaces) {
      if (!matches_limit(interface, expected)) continue;
      found = true;
      ++judged;
      append(findings, judge_interface(interface, expected));
    }
    if (!found)
      findings.push_back(failed(expected.name,
                                fmt::format("network interface {} is missing", expected.name),
                                Remedy::fix_config, {false, true}));
  }
  return or_pass(std::move(findings), fmt::format("{} up", counted(judged, "network interface")));
}

}  // namespace

constinit const Check check{
    .id = "host.ethernet",
    .title = "Network interfaces exist, are up and run at full speed",
    .why =
        "Looks for the network interfaces that the profile lists (by their name or that of their "
        "RDMA device), whether they are up, and at what speed. NCCL, MPI and Slurm start over this "
        "network: without it jobs hang at start, and a slow interface delays checkpoints.",
    .fix =
        "Look at ip -s link show IFACE, ethtool IFACE and the kernel log. Check the cable, the "
        "switch port and the address configuration. On Azure a missing mlx5_an device means that "
        "accelerated networking is off: stop and start the machine.",
    .needs = Probe::network,
    .not_here =
        [](const Snapshot&, const Profile& profile) {
          return unless(!profile.host->ethernet.interfaces.empty(),
                        not_expected("network interfaces"));
        },
    .judge = judge,
};

}  // namespace muster::checks::host_ethernet
