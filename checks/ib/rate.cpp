// SPDX-License-Identifier: Apache-2.0
// Every ACTIVE port runs at its rate, with all its lanes, each at its speed. The three are judged
// apart: 200 Gb/s is right on a 4X HDR port and a lost half on a 4X NDR port.
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

// A link as observed or as expected; what is not known or not expected is empty.
struct Link {
  std::optional<double> gbps;
  std::optional<unsigned> lanes;
  std::string speed;
  bool of_sisters = false;  // expected because most HCAs of its kind have it

  auto operator<=>(const Link&) const = default;  // NOLINT(modernize-use-nullptr): of the tool
};

// Of a port whose rate and width are known.
Link link_of(const IbPort& port) {
  return {.gbps = *port.rate_gbps, .lanes = *port.width, .speed = port.speed.value_or("")};
}

std::string to_text(const Link& link) {
  std::string detail;
  if (link.lanes) detail = fmt::format("{}X", *link.lanes);
  if (!link.speed.empty())
    detail = fmt::format("{}{}{}", detail, detail.empty() ? "" : " ", link.speed);
  if (!link.gbps) return detail;
  if (detail.empty()) return fmt::format("{} Gb/s", *link.gbps);
  return fmt::format("{} Gb/s ({})", *link.gbps, detail);
}

Link expected_link(const IbRateLimits& limits) {
  Link link;
  if (limits.width) link.lanes = lanes_of(*limits.width);
  if (limits.speed) link.speed = word_of(*limits.speed);
  if (limits.expected) link.gbps = limits.expected->value / 1e9;
  return link;
}

bool expects_nothing(const Link& expected) {
  return !expected.gbps && !expected.lanes && expected.speed.empty();
}

// Empty where the link is as wide and fast as expected.
std::string what_is_lost(const Link& link, const Link& expected) {
  const bool fewer = expected.lanes && *link.lanes < *expected.lanes;
  const bool slower =
      !expected.speed.empty() && ib_speed_named(link.speed) < ib_speed_named(expected.speed);
  std::string lanes;
  if (fewer) {
    lanes = *link.lanes * 2 == *expected.lanes
                ? "half the lanes"
                : fmt::format("{} of {} lanes", *link.lanes, *expected.lanes);
  }
  if (fewer && slower) return fmt::format("{}, and slower ones", lanes);
  if (fewer) return lanes;
  if (slower) return "slower lanes";
  constexpr double kRounding = 0.999;
  if (expected.gbps && *link.gbps < *expected.gbps * kRounding) return "too slow";
  return {};
}

Finding lost(const ib::PortOf& at, const Link& link, const Link& expected, std::string_view why,
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

// A kernel or driver that does not know a speed prints it as SDR. Verbs tell it from a real
// fallback.
Finding judge_sdr(const Snapshot& snapshot, const ib::PortOf& at, Link link, const Link& expected) {
  const Remedy hardware = hardware_remedy(snapshot);
  const VerbsPort* verbs = ib::verbs_port(snapshot, at);
  link.speed = "SDR";
  const std::string_view named = verbs == nullptr ? "" : name_of_verbs_speed(verbs->active_speed);
  const Outcome outcome = expects_nothing(expected) ? Outcome::warn : Outcome::fail;
  if (named.empty()) {
    return lost(at, link, expected, "the driver is too old to name the speed, or a real fallback",
                outcome, Remedy::fix_config);
  }
  if (named == "SDR") {
    return lost(at, link, expected, "a real fallback, verbs say SDR too", outcome, hardware);
  }
  Link real = link;
  real.speed = named;
  real.lanes = verbs->width;
  // The rate that sysfs computed from SDR says nothing.
  const std::string why = what_is_lost(real, {.lanes = expected.lanes, .speed = expected.speed});
  return lost(at, link, expected,
              fmt::format("the driver is too old to name the speed, verbs say {}X {}{}{}",
                          verbs->width, named, why.empty() ? "" : ": ", why),
              why.empty() ? Outcome::warn : Outcome::fail,
              why.empty() ? Remedy::fix_config : hardware);
}

std::optional<Finding> judge_port(const Snapshot& snapshot, const ib::PortOf& at,
                                  const Link& expected) {
  const IbPort& port = *at.port;
  if (!port.rate_gbps || !port.width || port.speed.is_unreadable()) {
    const std::string& why = !port.rate_gbps ? port.rate_gbps.why()
                             : !port.width   ? port.width.why()
                                             : port.speed.why();
    return ib::about(at, Outcome::unknown, fmt::format("the rate is not known: {}", why));
  }
  const Link link = link_of(port);
  const bool reads_sdr = link.speed.empty() || link.speed == "SDR";
  if (reads_sdr && expected.speed != "SDR") return judge_sdr(snapshot, at, link, expected);

  const std::string why = what_is_lost(link, expected);
  if (!why.empty()) return lost(at, link, expected, why, Outcome::fail, hardware_remedy(snapshot));
  if (expected.gbps && *link.gbps > *expected.gbps && !expected.of_sisters) {
    return lost(at, link, expected, "faster than this profile knows", Outcome::warn,
                Remedy::fix_config);
  }
  return std::nullopt;
}

// Where nothing is expected, sisters tell what a port should do.
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

  // Nothing where no majority is clear, or the driver has no name for what it reads.
  [[nodiscard]] Link usual_of(const ib::PortOf& at) const {
    const auto found = kinds_.find(ib::active_kind_of(snapshot_, at));
    if (found == kinds_.end()) return {};
    auto most = usual(found->second, &std::pair<ib::PortOf, Link>::second);
    if (!most || most->speed.empty() || most->speed == "SDR") return {};
    most->of_sisters = true;
    return *std::move(most);
  }

  // Kinds whose ports differ while nobody can say which of them is wrong.
  [[nodiscard]] Findings undecided() const {
    const Finding like{.outcome = Outcome::warn, .remedy = Remedy::fix_config};
    Findings findings;
    for (const auto& [kind, ports] : kinds_) {
      std::vector<Said> said;
      for (const auto& [at, link] : ports) said.push_back({at.hca->name, to_text(link)});
      for (auto& each : disagreements(said, {.what = "rate", .devices = "HCAs"}, like)) {
        if (each.device == kNode) findings.push_back(std::move(each));
      }
    }
    return findings;
  }

 private:
  const Snapshot& snapshot_;
  std::map<std::string, std::vector<std::pair<ib::PortOf, Link>>> kinds_;
  bool compared_ = false;
};

Findings judge(const Snapshot& snapshot, const Profile& profile) {
  const Link expected = expected_link(profile.ib->rate);
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
  return {passed(fmt::format("{}, each as fast as those like it", counted(ports.size(), "port")))};
}

}  // namespace

constinit const Check check{
    .id = "ib.rate",
    .title = "InfiniBand ports run at their rate, width and lane speed",
    .why =
        "One port at half its rate halves every collective of every job that the node takes part "
        "in. Width and lane speed are judged apart, because the rate alone hides the cause. A "
        "reading of SDR may be a real fallback or a driver that is too old to name the speed. "
        "Where the profile expects nothing, HCAs of one kind are compared with each other.",
    .fix =
        "Fewer lanes or slower ones: reseat or replace the cable, look at the switch port's "
        "settings. SDR by an old driver: update the driver or the kernel.",
    // Verbs are looked at where they were observed, to tell a real SDR from an old driver's.
    .code = "NHC2003",
    .needs = Probe::infiniband | Probe::identity,
    .when_absent = WhenAbsent::judge,
    .not_here = ib::no_active_ports,
    .judge = judge,
};

}  // namespace muster::checks::ib_rate
