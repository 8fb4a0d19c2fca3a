// SPDX-License-Identifier: Apache-2.0
// Every InfiniBand port is ACTIVE with its link up. Why a port is not is told apart, because cable,
// fabric and configuration are different people's work.
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

struct Verdict {
  std::string why;
  Remedy remedy = Remedy::none;
};

Verdict why_down(const Fact<unsigned>& physical_state, Remedy hardware) {
  switch (physical_state.value_or(0)) {
    case 2:
      return {"no partner answers: cable, optic or far end", hardware};
    case 3:
      return {"switched off by an administrator or the firmware", Remedy::fix_config};
    case 4:
      return {"stuck in training: a bad signal", hardware};
    case 6:
      return {"retraining after errors", hardware};
    default:
      return {"no link", hardware};
  }
}

Verdict why_not_active(const IbPort& port, Remedy hardware) {
  switch (*port.state) {
    case 2:
      return {
          "the link is up and no subnet manager has configured it: look at the fabric, not the "
          "node",
          Remedy::report_to_provider};
    case 3:
      return {"between INIT and ACTIVE, which should last a moment: run again", Remedy::watch};
    case 5:
      return {"the link was lost moments ago", hardware};
    default:
      return why_down(port.physical_state, hardware);
  }
}

Finding judge_port(const ib::PortOf& at, Remedy hardware) {
  const IbPort& port = *at.port;
  if (ib::link_layer_of(port) == ib::LinkLayer::unknown) {
    return ib::about(
        at, Outcome::unknown,
        fmt::format("link layer is not known: got \"{}\"", printable(port.link_layer, 60)));
  }
  if (!port.state) {
    return ib::about(at, Outcome::unknown,
                     fmt::format("the port's state is not known: {}", port.state.why()));
  }
  const std::string state = name_of(kStates, *port.state);
  const std::string physical =
      port.physical_state ? name_of(kPhysicalStates, *port.physical_state) : "not known";
  if (*port.state == 0 || *port.state >= kStates.size()) {
    return ib::about(at, Outcome::unknown, fmt::format("state {} means nothing to muster", state));
  }
  const auto fault = [&](const Verdict& verdict, Values values) {
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
    return fault({retraining ? "retraining after errors" : "the link is not up", hardware},
                 {physical, "LinkUp"});
  }
  return ib::about(at, Outcome::pass, "ACTIVE, LinkUp");
}

// Where no number of HCAs is expected, a port may be one that nobody uses. Most ports of its kind
// tell whether it is.
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

  // A number of HCAs is expected, and each of them is to be used.
  [[nodiscard]] bool all() const { return all_; }

  [[nodiscard]] bool contain(const ib::PortOf& at) const {
    return used_.contains(ib::kind_of(snapshot_, at));
  }

 private:
  const Snapshot& snapshot_;
  bool all_ = false;
  std::set<std::string> used_;
};

// A port without a link that may be a spare one, or that somebody switched off, is no fault that
// is proved. One that is trained, or trains again after errors, has a partner.
void may_be_unused(const IbPort& port, bool used, Finding& finding) {
  constexpr unsigned kDown = 1;
  constexpr unsigned kPolling = 2;
  constexpr unsigned kDisabled = 3;
  if (finding.outcome != Outcome::fail || port.state.value_or(0) != kDown) return;
  const auto physical = port.physical_state.value_or(kPolling);
  const bool off = physical == kDisabled;
  if (!off && (used || physical > kPolling)) return;
  finding.outcome = Outcome::warn;
  if (!off) {
    finding.message += "; too few HCAs like it are ACTIVE to tell whether it is used at all";
    finding.remedy = Remedy::watch;
  }
}

Findings judge(const Snapshot& snapshot, const Profile& profile) {
  Findings findings;
  std::size_t ports = 0;
  const UsedPorts used(snapshot, profile);
  for (const Hca* hca : ib::hcas_of(snapshot, profile)) {
    if (!hca->ports) {
      findings.push_back(not_known(hca->name, "what ports it has", hca->ports));
      continue;
    }
    if (hca->ports->empty()) {
      findings.push_back(unknown(hca->name, "it has no ports"));
    }
    for (const IbPort& port : *hca->ports) {
      if (ib::link_layer_of(port) == ib::LinkLayer::ethernet) continue;
      ++ports;
      Finding finding = judge_port({hca, &port}, hardware_remedy(snapshot));
      if (!used.all()) may_be_unused(port, used.contain({hca, &port}), finding);
      if (finding.outcome != Outcome::pass) findings.push_back(std::move(finding));
    }
  }
  return or_pass(std::move(findings), fmt::format("{} ACTIVE, LinkUp", counted(ports, "port")));
}

}  // namespace

constinit const Check check{
    .id = "ib.state",
    .title = "InfiniBand ports are ACTIVE and their links up",
    .why =
        "A port that is not ACTIVE moves no data, and a job that needs it hangs or fails at start. "
        "DOWN and Polling point to the cable or the far end, Disabled to the configuration, INIT "
        "to the subnet manager: the link is trained and nobody has configured it.",
    .fix =
        "DOWN: reseat or replace cable and optic, look at the switch port. INIT: look at the "
        "subnet manager. In a cloud report the node to the provider.",
    .code = "NHC2004",
    .needs = Probe::infiniband | Probe::identity,
    .when_absent = WhenAbsent::judge,
    .not_here = ib::no_hcas,
    .judge = judge,
};

}  // namespace muster::checks::ib_state
