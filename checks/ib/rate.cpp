// SPDX-License-Identifier: Apache-2.0
// ib.rate: every ACTIVE port has the expected rate, number of lanes and lane speed. Each is judged
// on its own, because 200 Gb/s is right for a 4X HDR port and half the rate of a 4X NDR port.
#include <fmt/format.h>

#include <algorithm>
#include <compare>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "checks/catalogue.hpp"
#include "checks/ib/hcas.hpp"
#include "checks/shared/agreement.hpp"
#include "lib/profile/limits/ib.hpp"

namespace muster::checks::ib_rate {
namespace {

std::string_view name_of_verbs_speed(unsigned number) {
  const auto* const found = std::ranges::find(kIbSpeeds, number, &IbSpeed::verbs);
  return found == kIbSpeeds.end() ? std::string_view{} : found->name;
}

// A link as observed or as expected.
struct IbLink {
  std::optional<double> gbps;
  std::optional<unsigned> lanes;
  std::string speed;
  bool of_sisters = false;  // expected because most HCAs of this kind have it

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
  if (limits.speed) link.speed = word_of(*limits.speed);
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
  return ib::about(
      at, outcome,
      expects_nothing(expected)
          ? fmt::format("{}: {}", to_text(link), why)
          : fmt::format("{}, {} {}: {}", to_text(link),
                        expected.of_sisters ? "but most HCAs like it have" : "expected",
                        to_text(expected), why),
      remedy, {*link.gbps, expected.gbps ? Value(*expected.gbps) : Value(), "Gb/s"});
}

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

std::optional<Finding> judge_port(const Snapshot& snapshot, const ib::PortOf& at,
                                  const IbLink& expected) {
  const IbPort& port = *at.port;
  if (!port.rate_gbps || !port.width || port.speed.is_unreadable()) {
    const std::string& why = !port.rate_gbps ? port.rate_gbps.why()
                             : !port.width   ? port.width.why()
                                             : port.speed.why();
    return ib::about(at, Outcome::unknown, fmt::format("the rate is not known: {}", why));
  }
  const IbLink link = link_of(port);
  const bool reads_sdr = link.speed.empty() || link.speed == "SDR";
  if (reads_sdr && expected.speed != "SDR") return judge_sdr(snapshot, at, link, expected);

  const std::string why = loss_text(link, expected);
  if (!why.empty()) return lost(at, link, expected, why, Outcome::fail, hardware_remedy(snapshot));
  if (expected.gbps && *link.gbps > *expected.gbps && !expected.of_sisters) {
    return lost(at, link, expected, "faster than expected", Outcome::warn, Remedy::fix_config);
  }
  return std::nullopt;
}

// Without limits, ports are compared with those of their kind.
class SisterLinks {
 public:
  SisterLinks(const Snapshot& snapshot, const std::vector<ib::PortOf>& ports)
      : snapshot_(snapshot) {
    for (const auto& at : ports) {
      const auto kind = ib::active_kind_of(snapshot, at);
      const IbPort& port = *at.port;
      if (kind.empty() || !port.rate_gbps || !port.width) continue;
      kinds_[kind].emplace_back(at, link_of(port));
      compared_ = compared_ || kinds_[kind].size() > 1;
    }
  }

  [[nodiscard]] bool compared() const { return compared_; }

  // Empty without a clear majority, or if the driver cannot name the speed.
  [[nodiscard]] IbLink usual_of(const ib::PortOf& at) const {
    const auto found = kinds_.find(ib::active_kind_of(snapshot_, at));
    if (found == kinds_.end()) return {};
    auto most = usual(found->second, &std::pair<ib::PortOf, IbLink>::second);
    if (!most || most->speed.empty() || most->speed == "SDR") return {};
    most->of_sisters = true;
    return *std::move(most);
  }

  // Kinds whose ports differ without a clear majority.
  [[nodiscard]] Findings undecided() const {
    const Finding like{.outcome = Outcome::warn, .remedy = Remedy::fix_config};
    Findings findings;
    for (const auto& [kind, ports] : kinds_) {
      std::vector<DeviceValue> said;
      for (const auto& [at, link] : ports) said.push_back({at.hca->name, to_text(link)});
      for (auto& each : disagreements(said, {.what = "rate", .devices = "HCAs"}, like)) {
        if (each.device == kNode) findings.push_back(std::move(each));
      }
    }
    return findings;
  }

 private:
  const Snapshot& snapshot_;
  std::map<std::string, std::vector<std::pair<ib::PortOf, IbLink>>> kinds_;
  bool compared_ = false;
};

Findings judge(const Snapshot& snapshot, const Profile& profile) {
  const IbLink expected = expected_link(profile.ib->rate);
  const bool by_sisters = expects_nothing(expected);
  Findings findings;
  const auto ports = ib::active_ports(snapshot, profile);
  const SisterLinks sisters(snapshot, ports);
  for (const ib::PortOf& at : ports) {
    append(findings, judge_port(snapshot, at, by_sisters ? sisters.usual_of(at) : expected));
  }
  if (by_sisters) append(findings, sisters.undecided());
  if (!findings.empty()) return findings;
  if (!by_sisters) {
    return {passed(fmt::format("{} at {}", counted(ports.size(), "port"), to_text(expected)))};
  }
  if (!sisters.compared()) return {not_expected("InfiniBand rate")};
  return {passed(fmt::format("{}, each as fast as its sisters", counted(ports.size(), "port")))};
}

}  // namespace

constinit const Check check{
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
    .needs = Probe::infiniband | Probe::identity,
    .when_absent = WhenAbsent::judge,
    .not_here = ib::no_active_ports,
    .judge = judge,
};

}  // namespace muster::checks::ib_rate
