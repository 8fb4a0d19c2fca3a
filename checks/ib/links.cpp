// SPDX-License-Identifier: Apache-2.0
// The state and the speed of links.
#include <array>
#include <compare>
#include <map>
#include <set>

#include "checks/catalogue.hpp"
#include "checks/ib/hcas.hpp"
#include "checks/shared/peers.hpp"

namespace muster::checks {
namespace {

// ib.rate: every ACTIVE port has the expected rate, number of lanes and lane speed. Each is judged
// on its own, because 200 Gb/s is right for a 4X HDR port and half the rate of a 4X NDR port.

std::string_view name_of_verbs_speed(unsigned number) {
  const auto* const found = std::ranges::find(kIbSpeeds, number, &IbSpeed::verbs);
  return found == kIbSpeeds.end() ? std::string_view{} : found->name;
}

// A link as observed or as expected.
struct IbLink {
  std::optional<double> gbps;
  std::optional<unsigned> lanes;
  std::string speed;
  bool of_peers = false;  // expected because most HCAs of this kind have it

  auto operator<=>(const IbLink&) const = default;  // NOLINT(modernize-use-nullptr): false alarm
};

// The rate and the width must be known.
IbLink link_of(const IbPort& port) {
  return {.gbps = *port.rate_gbps, .lanes = *port.width, .speed = port.speed.value_or("")};
}

std::string to_text(const IbLink& link) {
  std::string detail;
  if (link.lanes) detail = fmt::format("{}X", *link.lanes);
  if (!link.speed.empty())
    detail = fmt::format("{}{}{}", detail, detail.empty() ? "" : " ", link.speed);
  if (!link.gbps) return detail;
  if (detail.empty()) return fmt::format("{} Gb/s", *link.gbps);
  return fmt::format("{} Gb/s ({})", *link.gbps, detail);
}

IbLink expected_link(const IbRateLimits& limits) {
  IbLink link;
  if (limits.width) link.lanes = lanes_of(*limits.width);
  if (limits.speed) link.speed = to_string(*limits.speed);
  if (limits.expected) link.gbps = limits.expected->value / 1e9;
  return link;
}

bool expects_nothing(const IbLink& expected) {
  return !expected.gbps && !expected.lanes && expected.speed.empty();
}

// The missing width or speed; empty if the link is as wide and fast as expected.
std::string loss_text(const IbLink& link, const IbLink& expected) {
  const bool fewer = expected.lanes && *link.lanes < *expected.lanes;
  const bool slower =
      !expected.speed.empty() && ib_speed_named(link.speed) < ib_speed_named(expected.speed);
  std::string lanes;
  if (fewer) {
    lanes = *link.lanes * 2 == *expected.lanes
                ? "half the lanes"
                : fmt::format("{} of {} lanes", *link.lanes, *expected.lanes);
  }
  if (fewer && slower) return fmt::format("{}, at lower speed", lanes);
  if (fewer) return lanes;
  if (slower) return "lower lane speed";
  constexpr double kRounding = 0.999;
  if (expected.gbps && *link.gbps < *expected.gbps * kRounding) return "too slow";
  return {};
}

Finding lost(const ib::PortOf& at, const IbLink& link, const IbLink& expected, std::string_view why,
             Outcome outcome, Remedy remedy) {
  return ib::about(at, outcome,
                   expects_nothing(expected)
                       ? fmt::format("{}: {}", to_text(link), why)
                       : fmt::format("{}, {} {}: {}", to_text(link),
                                     expected.of_peers ? "but most HCAs like it have" : "expected",
                                     to_text(expected), why),
                   remedy, {*link.gbps, expected.gbps ? Value(*expected.gbps) : Value(), "Gb/s"});
}

bool is_known_speed(std::string_view name) { return ib_speed_named(name) != kIbSpeeds.end(); }

// Kernels and drivers report a speed they do not know as SDR. Verbs distinguish that from a real
// fallback.
Finding judge_sdr(const Snapshot& snapshot, const ib::PortOf& at, IbLink link,
                  const IbLink& expected) {
  const Remedy hardware = hardware_remedy(snapshot);
  const VerbsPort* verbs = ib::verbs_port(snapshot, at);
  link.speed = "SDR";
  const std::string_view named = verbs == nullptr ? "" : name_of_verbs_speed(verbs->active_speed);
  const Outcome outcome = expects_nothing(expected) ? Outcome::warn : Outcome::fail;
  if (named.empty()) {
    return lost(at, link, expected,
                "the driver is too old to report the speed, or the link fell back", outcome,
                Remedy::fix_config);
  }
  if (named == "SDR") {
    return lost(at, link, expected, "the link fell back: verbs report SDR as well", outcome,
                hardware);
  }
  IbLink real = link;
  real.speed = named;
  real.lanes = verbs->width;
  // The rate that sysfs computes from SDR is meaningless.
  const std::string why = loss_text(real, {.lanes = expected.lanes, .speed = expected.speed});
  return lost(at, link, expected,
              fmt::format("the driver is too old to report the speed, verbs report {}X {}{}{}",
                          verbs->width, named, why.empty() ? "" : ": ", why),
              why.empty() ? Outcome::warn : Outcome::fail,
              why.empty() ? Remedy::fix_config : hardware);
}

std::optional<Finding> judge_port_rate(const Snapshot& snapshot, const ib::PortOf& at,
                                       const IbLink& expected) {
  const IbPort& port = *at.port;
  if (!port.rate_gbps || !port.width || port.speed.is_unreadable()) {
    const std::string& why = !port.rate_gbps ? port.rate_gbps.why()
                             : !port.width   ? port.width.why()
                                             : port.speed.why();
    return ib::about(at, Outcome::unknown, fmt::format("the rate is unknown: {}", why));
  }
  const IbLink link = link_of(port);
  const bool reads_sdr = link.speed.empty() || link.speed == "SDR";
  if (reads_sdr && expected.speed != "SDR") return judge_sdr(snapshot, at, link, expected);

  const std::string why = loss_text(link, expected);
  if (!why.empty()) return lost(at, link, expected, why, Outcome::fail, hardware_remedy(snapshot));
  if (is_known_speed(expected.speed) && !is_known_speed(link.speed)) {
    return ib::about(at, Outcome::unknown,
                     fmt::format("unknown lane speed \"{}\", expected {}",
                                 printable(link.speed, 20), expected.speed));
  }
  if (expected.gbps && *link.gbps > *expected.gbps && !expected.of_peers) {
    return lost(at, link, expected, "faster than expected", Outcome::warn, Remedy::fix_config);
  }
  return std::nullopt;
}

// Without limits, ports are compared with those of their kind.
struct PeerRate {
  std::string name;  // of the HCA
  IbLink link;
};

using PeerRates = std::map<std::string, std::vector<PeerRate>>;  // by kind

PeerRates peer_rates_of(const Snapshot& snapshot, const std::vector<ib::PortOf>& ports) {
  PeerRates kinds;
  for (const auto& at : ports) {
    const auto kind = ib::active_kind_of(snapshot, at);
    if (kind.empty() || !at.port->rate_gbps || !at.port->width) continue;
    kinds[kind].push_back({at.hca->name, link_of(*at.port)});
  }
  return kinds;
}

// Empty without a clear majority, or if the driver cannot name the speed.
IbLink usual_link(const PeerRates& kinds, const std::string& kind) {
  const auto found = kinds.find(kind);
  if (found == kinds.end()) return {};
  auto most = usual(found->second, &PeerRate::link);
  if (!most || most->speed.empty() || most->speed == "SDR") return {};
  most->of_peers = true;
  return *std::move(most);
}

// A finding for each kind whose ports differ without a clear majority.
Findings undecided(const PeerRates& kinds) {
  Findings findings;
  for (const auto& [kind, ports] : kinds) {
    std::vector<DeviceValue> said;
    for (const auto& [name, link] : ports) said.push_back({name, to_text(link)});
    append(findings, disagreements(said, {.what = "rate", .devices = "HCAs"},
                                   {.outcome = Outcome::warn, .remedy = Remedy::fix_config}));
  }
  std::erase_if(findings, [](const Finding& each) { return each.device != kNode; });
  return findings;
}

Findings judge_port_rates(const Snapshot& snapshot, const Profile& profile) {
  const IbLink expected = expected_link(profile.ib->rate);
  const bool by_peers = expects_nothing(expected);
  Findings findings;
  const auto ports = ib::active_ports(snapshot, profile);
  const auto peers = peer_rates_of(snapshot, ports);
  for (const ib::PortOf& at : ports) {
    const auto wanted = by_peers ? usual_link(peers, ib::active_kind_of(snapshot, at)) : expected;
    append(findings, judge_port_rate(snapshot, at, wanted));
  }
  if (by_peers) append(findings, undecided(peers));
  if (!findings.empty()) return findings;
  if (!by_peers) {
    return {passed(fmt::format("{} at {}", counted(ports.size(), "port"), to_text(expected)))};
  }
  const bool compared =
      std::ranges::any_of(peers, [](const auto& kind) { return kind.second.size() > 1; });
  if (!compared) return {not_expected("InfiniBand rate")};
  return {passed(fmt::format("{}, each as fast as its peers", counted(ports.size(), "port")))};
}

// ib.state: every InfiniBand port is ACTIVE with its link up. The message names the cause, because
// different people repair cables, the fabric and configurations.

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
      break;
  }
  switch (port.physical_state.value_or(0)) {
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

Finding judge_port_state(const ib::PortOf& at, Remedy hardware) {
  const IbPort& port = *at.port;
  if (!ib::is_infiniband(port) && !ib::is_other_network(port)) {
    return ib::about(at, Outcome::unknown,
                     fmt::format("unknown link layer \"{}\"", printable(port.link_layer, 60)));
  }
  if (!port.state) {
    return ib::about(at, Outcome::unknown,
                     fmt::format("the port's state is unknown: {}", port.state.why()));
  }
  const std::string state = name_of(kStates, *port.state);
  const std::string physical =
      port.physical_state ? name_of(kPhysicalStates, *port.physical_state) : "unknown";
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
                     fmt::format("physical state is unknown: {}", port.physical_state.why()));
  }
  if (*port.physical_state != ib::kLinkUp) {
    const bool retraining = *port.physical_state == 6;
    return fault({retraining ? "retraining after errors" : "the link is down", hardware},
                 {physical, "LinkUp"});
  }
  return ib::about(at, Outcome::pass, "ACTIVE, LinkUp");
}

// The kinds of which most ports are ACTIVE. Without an expected number of HCAs, a port of another
// kind may be unused.
std::set<std::string> used_kinds(const Snapshot& snapshot, const Profile& profile) {
  std::map<std::string, std::vector<bool>> kinds;
  for (const Hca* hca : ib::hcas_of(snapshot, profile)) {
    if (!hca->ports) continue;
    for (const IbPort& port : *hca->ports) {
      if (!ib::is_infiniband(port) || !port.state) continue;
      kinds[ib::kind_of(snapshot, {hca, &port})].push_back(*port.state == ib::kActive);
    }
  }
  std::set<std::string> used;
  for (const auto& [kind, active] : kinds) {
    if (!kind.empty() && usual(active).value_or(false)) used.insert(kind);
  }
  return used;
}

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

Findings judge_port_states(const Snapshot& snapshot, const Profile& profile) {
  Findings findings;
  std::size_t ports = 0;
  const auto used = used_kinds(snapshot, profile);
  for (const Hca* hca : ib::hcas_of(snapshot, profile)) {
    if (!hca->ports) {
      findings.push_back(not_known(hca->name, "the list of ports", hca->ports));
      continue;
    }
    if (hca->ports->empty()) findings.push_back(unknown(hca->name, "no ports"));
    for (const IbPort& port : *hca->ports) {
      if (ib::is_other_network(port)) continue;
      ++ports;
      Finding finding = judge_port_state({hca, &port}, hardware_remedy(snapshot));
      if (!profile.ib->present.count) {
        lower_if_unused(port, used.contains(ib::kind_of(snapshot, {hca, &port})), finding);
      }
      if (finding.outcome != Outcome::pass) findings.push_back(std::move(finding));
    }
  }
  return or_pass(std::move(findings), fmt::format("{} ACTIVE, LinkUp", counted(ports, "port")));
}

}  // namespace

constinit const Check ib_rate::check = ib::check_of_hcas({
    .id = "ib.rate",
    .title = "InfiniBand ports have the expected rate, width and lane speed",
    .why =
        "One port at half its rate halves the speed of every collective that the node is part of. "
        "Width and lane speed are judged separately, because the rate alone hides the cause. SDR "
        "may be a real fallback, or a driver that is too old to report the speed. If the profile "
        "expects nothing, HCAs of one kind are compared with each other.",
    .fix =
        "Fewer or slower lanes: reseat or replace the cable, look at the switch port's settings. "
        "SDR because of an old driver: update the driver or the kernel.",
    .code = "NHC2003",
    .judge = judge_port_rates,
});

constinit const Check ib_state::check = ib::check_of_hcas({
    .id = "ib.state",
    .title = "InfiniBand ports are ACTIVE and their links are up",
    .why =
        "A port that is not ACTIVE moves no data, and a job that needs it hangs or fails at start. "
        "DOWN and Polling point to the cable or the remote end, Disabled to the configuration, and "
        "INIT (trained but not configured) to the subnet manager.",
    .fix = "DOWN: reseat or replace cable and optic, look at the switch port. INIT: look at the "
           "subnet manager. In a cloud, report the node to the provider.",
    .code = "NHC2004",
    .not_applicable = ib::no_hcas,
    .judge = judge_port_states,
});

}  // namespace muster::checks
