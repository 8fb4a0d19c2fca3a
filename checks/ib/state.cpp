// SPDX-License-Identifier: Apache-2.0
// ib.state: every InfiniBand port is ACTIVE with its link up. The message names the cause, because
// different people repair cables, the fabric and configurations.
#include <fmt/format.h>

#include <array>
#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "checks/catalogue.hpp"
#include "checks/ib/hcas.hpp"
#include "checks/shared/agreement.hpp"

namespace muster::checks::ib_state {
namespace {

constexpr std::array<std::string_view, 6> kStates{"NOP",   "DOWN",   "INIT",
                                                  "ARMED", "ACTIVE", "ACTIVE_DEFER"};
constexpr std::array<std::string_view, 8> kPhysicalStates{"0",
                                                          "Sleep",
                                                          "Polling",
                                                          "Disabled",
                                                          "PortConfigurationTraining",
                                                          "LinkUp",
                                                          "LinkErrorRecovery",
                                                          "Phy Test"};

template <std::size_t kSize>
std::string name_of(const std::array<std::string_view, kSize>& names, unsigned number) {
  return number < kSize ? std::string(names.at(number)) : fmt::format("{}", number);
}

struct PortFault {
  std::string why;
  Remedy remedy = Remedy::none;
};

PortFault why_down(const Fact<unsigned>& physical_state, Remedy hardware) {
  switch (physical_state.value_or(0)) {
    case 2:
      return {"no link partner: check cable, optic and remote end", hardware};
    case 3:
      return {"disabled by an administrator or the firmware", Remedy::fix_config};
    case 4:
      return {"stuck in training because of a bad signal", hardware};
    case 6:
      return {"retraining after errors", hardware};
    default:
      return {"no link", hardware};
  }
}

PortFault why_not_active(const IbPort& port, Remedy hardware) {
  switch (*port.state) {
    case 2:
      return {"the link is up but no subnet manager configured it: check the fabric, not the node",
              Remedy::report_to_provider};
    case 3:
      return {"between INIT and ACTIVE, which should be short: run again", Remedy::watch};
    case 5:
      return {"the link was just lost", hardware};
    default:
      return why_down(port.physical_state, hardware);
  }
}

Finding judge_port(const ib::PortOf& at, Remedy hardware) {
  const IbPort& port = *at.port;
  if (ib::link_layer_of(port) == ib::LinkLayer::unknown) {
    return ib::about(at, Outcome::unknown,
                     fmt::format("unknown link layer \"{}\"", printable(port.link_layer, 60)));
  }
  if (!port.state) {
    return ib::about(at, Outcome::unknown,
                     fmt::format("the port's state is not known: {}", port.state.why()));
  }
  const std::string state = name_of(kStates, *port.state);
  const std::string physical =
      port.physical_state ? name_of(kPhysicalStates, *port.physical_state) : "not known";
  if (*port.state == 0 || *port.state >= kStates.size()) {
    return ib::about(at, Outcome::unknown, fmt::format("unknown port state {}", state));
  }
  const auto fault = [&](const PortFault& verdict, Values values) {
    return ib::about(at, Outcome::fail,
                     fmt::format("{}, physical state {}: {}", state, physical, verdict.why),
                     verdict.remedy, std::move(values));
  };
  if (*port.state != ib::kActive) return fault(why_not_active(port, hardware), {state, "ACTIVE"});
  if (!port.physical_state) {
    return ib::about(at, Outcome::unknown,
                     fmt::format("physical state is not known: {}", port.physical_state.why()));
  }
  if (*port.physical_state != ib::kLinkUp) {
    const bool retraining = *port.physical_state == 6;
    return fault({retraining ? "retraining after errors" : "the link is down", hardware},
                 {physical, "LinkUp"});
  }
  return ib::about(at, Outcome::pass, "ACTIVE, LinkUp");
}

// Without an expected number of HCAs, a port may be unused. It counts as used if most ports of its
// kind are ACTIVE.
class UsedPorts {
 public:
  UsedPorts(const Snapshot& snapshot, const Profile& profile)
      : snapshot_(snapshot), all_(profile.ib->present.count.has_value()) {
    std::map<std::string, std::vector<bool>> kinds;
    for (const Hca* hca : ib::hcas_of(snapshot, profile)) {
      if (!hca->ports) continue;
      for (const IbPort& port : *hca->ports) {
        if (ib::link_layer_of(port) != ib::LinkLayer::infiniband || !port.state) continue;
        kinds[ib::kind_of(snapshot, {hca, &port})].push_back(*port.state == ib::kActive);
      }
    }
    for (const auto& [kind, active] : kinds) {
      if (!kind.empty() && usual(active).value_or(false)) used_.insert(kind);
    }
  }

  // With an expected number of HCAs, all are used.
  [[nodiscard]] bool all() const { return all_; }

  [[nodiscard]] bool contain(const ib::PortOf& at) const {
    return used_.contains(ib::kind_of(snapshot_, at));
  }

 private:
  const Snapshot& snapshot_;
  bool all_ = false;
  std::set<std::string> used_;
};

// Lowers to a warning the failure of a port that is disabled, or that may be unused because it
// never had a link partner.
void lower_if_unused(const IbPort& port, bool used, Finding& finding) {
  constexpr unsigned kDown = 1;
  constexpr unsigned kPolling = 2;
  constexpr unsigned kDisabled = 3;
  if (finding.outcome != Outcome::fail || port.state.value_or(0) != kDown) return;
  const auto physical = port.physical_state.value_or(kPolling);
  const bool off = physical == kDisabled;
  if (!off && (used || physical > kPolling)) return;
  finding.outcome = Outcome::warn;
  if (!off) {
    finding.message += "; too few HCAs like it are ACTIVE to know whether it is used";
    finding.remedy = Remedy::watch;
  }
}

Findings judge(const Snapshot& snapshot, const Profile& profile) {
  Findings findings;
  std::size_t ports = 0;
  const UsedPorts used(snapshot, profile);
  for (const Hca* hca : ib::hcas_of(snapshot, profile)) {
    if (!hca->ports) {
      findings.push_back(not_known(hca->name, "the list of ports", hca->ports));
      continue;
    }
    if (hca->ports->empty()) {
      findings.push_back(unknown(hca->name, "no ports"));
    }
    for (const IbPort& port : *hca->ports) {
      if (ib::link_layer_of(port) == ib::LinkLayer::ethernet) continue;
      ++ports;
      Finding finding = judge_port({hca, &port}, hardware_remedy(snapshot));
      if (!used.all()) lower_if_unused(port, used.contain({hca, &port}), finding);
      if (finding.outcome != Outcome::pass) findings.push_back(std::move(finding));
    }
  }
  return or_pass(std::move(findings), fmt::format("{} ACTIVE, LinkUp", counted(ports, "port")));
}

}  // namespace

constinit const Check check{
    .id = "ib.state",
    .title = "InfiniBand ports are ACTIVE and their links are up",
    .why =
        "A port that is not ACTIVE moves no data, and a job that needs it hangs or fails at start. "
        "DOWN and Polling point to the cable or the remote end, Disabled to the configuration, and "
        "INIT (trained but not configured) to the subnet manager.",
    .fix =
        "DOWN: reseat or replace cable and optic, look at the switch port. INIT: look at the "
        "subnet manager. In a cloud, report the node to the provider.",
    .code = "NHC2004",
    .needs = Probe::infiniband | Probe::identity,
    .when_absent = WhenAbsent::judge,
    .not_here = ib::no_hcas,
    .judge = judge,
};

}  // namespace muster::checks::ib_state
