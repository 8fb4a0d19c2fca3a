// SPDX-License-Identifier: Apache-2.0
// Error counters of ACTIVE ports as rates since earlier runs. Lifetime totals say nothing, and the
// counters saturate: at its maximum a counter no longer counts.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "checks/catalogue.hpp"
#include "checks/ib/hcas.hpp"
#include "checks/shared/rise.hpp"
#include "lib/base/units.hpp"
#include "lib/profile/limits/ib.hpp"
#include "lib/state/counters.hpp"

namespace muster::checks::ib_errors {
namespace {

struct Width {
  std::string_view counter;
  std::uint64_t most = 0;
};

// Where the InfiniBand architecture's port counters end; they stay there until they are cleared.
constexpr std::array<Width, 12> kWidths{{{"VL15_dropped", 0xffff},
                                         {"excessive_buffer_overrun_errors", 0xf},
                                         {"link_downed", 0xff},
                                         {"link_error_recovery", 0xff},
                                         {"local_link_integrity_errors", 0xf},
                                         {"port_rcv_constraint_errors", 0xff},
                                         {"port_rcv_errors", 0xffff},
                                         {"port_rcv_remote_physical_errors", 0xffff},
                                         {"port_rcv_switch_relay_errors", 0xffff},
                                         {"port_xmit_constraint_errors", 0xff},
                                         {"port_xmit_discards", 0xffff},
                                         {"symbol_error", 0xffff}}};

bool is_saturated(std::string_view counter, std::uint64_t value) {
  return std::ranges::any_of(
      kWidths, [&](const Width& width) { return width.counter == counter && value >= width.most; });
}

// What came of all the counters that were looked at.
struct Tally {
  Findings findings;
  std::size_t judged = 0;
  std::size_t first = 0;  // nothing earlier to compare with
  bool virtual_function = false;
  bool refused = false;  // the registers of physical ports
};

Remedy remedy_for(const Snapshot& snapshot, std::string_view counter, Outcome outcome) {
  if (counter.ends_with("constraint_errors")) return Remedy::fix_config;
  return outcome == Outcome::fail ? hardware_remedy(snapshot) : Remedy::watch;
}

// One limit of a counter: how far it may rise in how long.
struct Rule {
  Outcome outcome = Outcome::warn;
  double most = 0;
  double within_s = kHour;
  double over_s = kHour;  // the time that is looked at: more than `within_s` for an average
};

// The worst first. A rate is judged over the last hour, which shows a burst, and over the whole
// window, which remembers one.
std::vector<Rule> rules_of(const CounterLimit& limit, double window_s) {
  std::vector<Rule> rules;
  const auto per_hour = [&](Outcome outcome, const Limit<double>& most) {
    if (!most) return;
    rules.push_back({.outcome = outcome, .most = *most});
    rules.push_back({.outcome = outcome, .most = *most, .over_s = std::max(window_s, kHour)});
  };
  const auto count = [&](Outcome outcome, const Limit<double>& most, const Limit<Seconds>& within) {
    if (!most) return;
    const double span = within ? within->value : window_s;
    rules.push_back({.outcome = outcome, .most = *most, .within_s = span, .over_s = span});
  };
  per_hour(Outcome::fail, limit.fail_above_per_hour);
  count(Outcome::fail, limit.fail_above, limit.fail_within);
  per_hour(Outcome::warn, limit.warn_above_per_hour);
  count(Outcome::warn, limit.warn_above, limit.warn_within);
  return rules;
}

bool is_limited(const CounterLimit& limit) {
  return limit.warn_above_per_hour || limit.fail_above_per_hour || limit.warn_above ||
         limit.fail_above;
}

struct Unreadable {
  std::vector<std::string> names;
  std::string why;  // of the first

  void add(const std::string& name, const std::string& reason) {
    names.push_back(name);
    if (why.empty()) why = reason;
  }
};

class PortJudge {
 public:
  PortJudge(const Snapshot& snapshot, const Profile& profile, Tally& tally)
      : snapshot_(snapshot), limits_(profile.ib->errors), tally_(tally) {}

  void judge(const ib::PortOf& at) {
    Unreadable unreadable;
    Unreadable refused;
    bool port_answers = false;
    for (const auto& [name, limit] : limits_.counters) {
      if (!is_limited(limit)) continue;
      // In the physical port's register, or else the function's.
      const bool of_port = at.port->counters.contains(name);
      const auto& counters = of_port ? at.port->counters : at.port->hw_counters;
      const auto counter = counters.find(name);
      if (counter == counters.end()) {
        unreadable.add(name, "the port does not offer it");
      } else if (const auto& fact = counter->second; !fact) {
        const bool by_nature = fact.is_absent() && of_port && at.hca->virtual_function;
        (by_nature ? refused : unreadable).add(name, fact.why());
      } else {
        port_answers = port_answers || of_port;
        judge_value(at, name, *fact, limit);
      }
    }
    report(at, port_answers, std::move(unreadable), refused);
  }

 private:
  void report(const ib::PortOf& at, bool port_answers, Unreadable unreadable,
              const Unreadable& refused) {
    tally_.virtual_function = tally_.virtual_function || at.hca->virtual_function;
    // The port's register is refused as a whole: a single counter is not a virtual function's
    // nature.
    if (port_answers) {
      for (const auto& name : refused.names) unreadable.add(name, refused.why);
    } else {
      tally_.refused = tally_.refused || !refused.names.empty();
    }
    if (unreadable.names.empty()) return;
    tally_.findings.push_back(ib::about(
        at, Outcome::unknown,
        fmt::format("cannot read {}: {}", fmt::join(unreadable.names, ", "), unreadable.why)));
  }

  void judge_value(const ib::PortOf& at, const std::string& name, std::uint64_t value,
                   const CounterLimit& limit) {
    if (is_saturated(name, value)) {
      tally_.findings.push_back(
          ib::about(at, Outcome::unknown,
                    fmt::format("{} is saturated at {}: clear with perfquery -R", name, value),
                    Remedy::none, {count_value(value)}));
      return;
    }
    const std::string key = fmt::format("ib.{}.{}.{}", at.hca->name, at.port->number, name);
    if (!rise_of(snapshot_, key, value)) {
      ++tally_.first;
      return;
    }
    ++tally_.judged;
    for (const Rule& rule : rules_of(limit, limits_.window.value)) {
      if (auto finding = judge_rule(at, name, *rise_of(snapshot_, key, value, rule.over_s), rule)) {
        tally_.findings.push_back(*std::move(finding));
        return;
      }
    }
  }

  [[nodiscard]] std::optional<Finding> judge_rule(const ib::PortOf& at, const std::string& name,
                                                  const Delta& delta, const Rule& rule) const {
    const double seen = delta.in_window(rule.within_s);
    if (seen <= rule.most) return std::nullopt;
    const bool rate = rule.within_s <= kHour;
    return ib::about(
        at, rule.outcome,
        rate ? fmt::format("{} rose by {} in {}: {:.1f} per hour, limit {}", name, delta.increments,
                           in_time(delta.seconds), seen, rule.most)
             : fmt::format("{} rose by {} in {}, limit {} in {}", name, delta.increments,
                           in_time(std::max(delta.seconds, rule.within_s)), rule.most,
                           in_time(rule.within_s)),
        remedy_for(snapshot_, name, rule.outcome),
        {seen, rule.most,
         rate ? std::string("per hour") : fmt::format("in {}", in_time(rule.within_s))});
  }

  const Snapshot& snapshot_;
  const IbErrorLimits& limits_;
  Tally& tally_;
};

Finding summary(const Tally& tally) {
  if (tally.judged == 0 && tally.first == 0) {
    return skipped("the port's error counters are refused to virtual functions");
  }
  if (tally.judged == 0) {
    return skipped(
        "first observation in this boot, or counters cleared since: a rate needs an earlier one");
  }
  std::string message =
      fmt::format("{} within their limits", counted(tally.judged, "error counter"));
  if (tally.first > 0) message += fmt::format(", {} seen for the first time", tally.first);
  if (tally.refused) {
    message += "; the port's own counters are refused to virtual functions";
  } else if (tally.virtual_function) {
    message += "; on a virtual function a zero proves nothing";
  }
  return passed(std::move(message));
}

Findings judge(const Snapshot& snapshot, const Profile& profile) {
  const bool limited = std::ranges::any_of(
      profile.ib->errors.counters, [](const auto& entry) { return is_limited(entry.second); });
  if (!limited) return {not_expected("limit of InfiniBand errors")};
  const auto& uptime = snapshot.identity->uptime_s;
  if (!uptime) return {not_known(kNode, "the time since boot", uptime)};

  Tally tally;
  PortJudge port_judge(snapshot, profile, tally);
  for (const ib::PortOf& at : ib::active_ports(snapshot, profile)) port_judge.judge(at);
  if (tally.findings.empty()) return {summary(tally)};
  return std::move(tally.findings);
}

}  // namespace

constinit const Check check{
    .id = "ib.errors",
    .title = "InfiniBand error counters rise no faster than their limits",
    .why =
        "A link that corrects, retrains or drops packets is slow for every job and about to fail. "
        "The counters count since they were last cleared, so only their rise between two runs says "
        "anything, and they stop at their maximum. A virtual function may show zeros or nothing.",
    .fix =
        "Reseat or replace the cable or optic, clear the counters (perfquery -R) and watch. "
        "Constraint errors point to partition keys, discards to congestion or a dead far end.",
    .code = "NHC2003",
    .needs = Probe::infiniband | Probe::identity,
    .when_absent = WhenAbsent::judge,
    .not_here = ib::no_active_ports,
    .judge = judge,
};

}  // namespace muster::checks::ib_errors
