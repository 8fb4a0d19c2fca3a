// SPDX-License-Identifier: Apache-2.0
// Every InfiniBand port is ACTIVE with its link up. Why a port is not is told apart, because cable,
// fabric and configuration are different people's work.
#include <fmt/format.h>

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "checks/catalogue.hpp"
#include "checks/ib/hcas.hpp"

namespace muster::checks {
namespace {

constexpr std::array<std::string_view, 6> kStates{
    "NOP", "DOWN", "INIT", "ARMED", "ACTIVE", "ACTIVE_DEFER"};
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
        at,
        Outcome::unknown,
        fmt::format("link layer is not known: got \"{}\"", printable(port.link_layer, 60)));
  }
  if (!port.state) {
    return ib::about(
        at, Outcome::unknown, fmt::format("the port's state is not known: {}", port.state.why()));
  }
  const std::string state = name_of(kStates, *port.state);
  const std::string physical =
      port.physical_state ? name_of(kPhysicalStates, *port.physical_state) : "not known";
  if (*port.state == 0 || *port.state >= kStates.size()) {
    return ib::about(at, Outcome::unknown, fmt::format("state {} means nothing to muster", state));
  }
  Finding finding = ib::about(at, Outcome::fail, {});
  finding.observed = state;
  finding.limit = std::string("ACTIVE");
  Verdict verdict;
  if (*port.state != ib::kActive) {
    verdict = why_not_active(port, hardware);
  } else if (!port.physical_state) {
    return ib::about(at,
                     Outcome::unknown,
                     fmt::format("physical state is not known: {}", port.physical_state.why()));
  } else if (*port.physical_state != ib::kLinkUp) {
    verdict = {*port.physical_state == 6 ? "retraining after errors" : "the link is not up",
               hardware};
    finding.observed = physical;
    finding.limit = std::string("LinkUp");
  } else {
    return ib::about(at, Outcome::pass, "ACTIVE, LinkUp");
  }
  const std::string message =
      fmt::format("{}, physical state {}: {}", state, physical, verdict.why);
  finding.message = ib::about(at, Outcome::fail, message).message;
  finding.remedy = verdict.remedy;
  return finding;
}

Findings judge(const Snapshot& snapshot, const Profile& profile) {
  Findings findings;
  std::size_t ports = 0;
  for (const Hca* hca : ib::hcas_of(snapshot, profile)) {
    if (!hca->ports) {
      findings.push_back(not_known(hca->name, "what ports it has", hca->ports));
      continue;
    }
    if (hca->ports->empty()) {
      findings.push_back(
          {.device = hca->name, .outcome = Outcome::unknown, .message = "it has no ports"});
    }
    for (const IbPort& port : *hca->ports) {
      if (ib::link_layer_of(port) == ib::LinkLayer::ethernet) continue;
      ++ports;
      Finding finding = judge_port({hca, &port}, hardware_remedy(snapshot));
      if (finding.outcome != Outcome::pass) findings.push_back(std::move(finding));
    }
  }
  return or_pass(std::move(findings), fmt::format("{} ACTIVE, LinkUp", counted(ports, "port")));
}

}  // namespace

constinit const Check ib_state{
    .id = "ib.state",
    .title = "InfiniBand ports are ACTIVE and their links up",
    .why =
        "A port that is not ACTIVE moves no data, and a job that needs it hangs or fails at start. "
        "DOWN "
        "and Polling point to the cable or the far end, Disabled to the configuration, INIT to the "
        "subnet manager: the link is trained and nobody has configured it.",
    .fix =
        "DOWN: reseat or replace cable and optic, look at the switch port. INIT: look at the "
        "subnet "
        "manager. In a cloud report the node to the provider.",
    .code = "NHC2004",
    .needs = Probe::infiniband | Probe::identity,
    .when_absent = WhenAbsent::judge,
    .not_here = ib::no_hcas,
    .judge = judge,
};

}  // namespace muster::checks
