// SPDX-License-Identifier: Apache-2.0
// Error counters of ACTIVE ports as rates since earlier runs. Lifetime totals say nothing, and the
// counters saturate: at its maximum a counter no longer counts.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "checks/catalogue.hpp"
#include "checks/ib/hcas.hpp"
#include "lib/node/earlier.hpp"

namespace muster::checks {
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

const Fact<std::uint64_t>* find_counter(const IbPort& port, const std::string& name) {
  for (const auto* group : {&port.counters, &port.hw_counters}) {
    if (const auto found = group->find(name); found != group->end()) return &found->second;
  }
  return nullptr;
}

// What came of all the counters that were looked at.
struct Tally {
  Findings findings;
  std::size_t judged = 0;
  std::size_t first = 0;  // nothing earlier to compare with
  bool virtual_function = false;
};

Remedy remedy_for(const Snapshot& snapshot, std::string_view counter, Outcome outcome) {
  if (counter.ends_with("constraint_errors")) return Remedy::fix_config;
  return outcome == Outcome::fail ? hardware_remedy(snapshot) : Remedy::watch;
}

Outcome outcome_of(double per_hour, const CounterLimit& limit) {
  if (limit.fail_above_per_hour && per_hour > *limit.fail_above_per_hour) return Outcome::fail;
  if (limit.warn_above_per_hour && per_hour > *limit.warn_above_per_hour) return Outcome::warn;
  return Outcome::pass;
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
      : snapshot_(snapshot), limits_(profile.ib.errors), tally_(tally) {}

  void judge(const ib::PortOf& at) {
    Unreadable unreadable;
    std::vector<std::string> refused;
    std::size_t readable = 0;
    for (const auto& [name, limit] : limits_.counters) {
      if (!limit.warn_above_per_hour && !limit.fail_above_per_hour) continue;
      const auto* counter = find_counter(*at.port, name);
      if (counter == nullptr) {
        unreadable.add(name, "the port does not offer it");
      } else if (counter->known()) {
        ++readable;
        judge_value(at, name, **counter, limit);
      } else if (counter->is_absent() && at.hca->virtual_function) {
        refused.push_back(name);
        unreadable.add(name, counter->why());
      } else {
        unreadable.add(name, counter->why());
      }
    }
    tally_.virtual_function = tally_.virtual_function || at.hca->virtual_function;
    // The port's register is refused as a whole: a single counter is not a virtual function's
    // nature.
    if (readable == 0 && refused.size() == unreadable.names.size()) return;
    if (unreadable.names.empty()) return;
    tally_.findings.push_back(ib::about(
        at,
        Outcome::unknown,
        fmt::format("cannot read {}: {}", fmt::join(unreadable.names, ", "), unreadable.why)));
  }

 private:
  void judge_value(const ib::PortOf& at,
                   const std::string& name,
                   std::uint64_t value,
                   const CounterLimit& limit) {
    if (is_saturated(name, value)) {
      Finding finding =
          ib::about(at,
                    Outcome::unknown,
                    fmt::format("{} is saturated at {}: clear with perfquery -R", name, value));
      finding.observed = count_value(value);
      tally_.findings.push_back(std::move(finding));
      return;
    }
    const auto delta = delta_of(snapshot_.earlier,
                                fmt::format("ib.{}.{}.{}", at.hca->name, at.port->number, name),
                                {.uptime_s = *snapshot_.identity->uptime_s, .value = value},
                                limits_.window.value);
    if (!delta) {
      ++tally_.first;
      return;
    }
    ++tally_.judged;
    const double per_hour = delta->per_hour();
    const Outcome outcome = outcome_of(per_hour, limit);
    if (outcome == Outcome::pass) return;
    const double most =
        outcome == Outcome::fail ? *limit.fail_above_per_hour : *limit.warn_above_per_hour;
    Finding finding = ib::about(at,
                                outcome,
                                fmt::format("{} rose by {} in {}: {:.1f} per hour, limit {}",
                                            name,
                                            delta->increments,
                                            in_time(delta->seconds),
                                            per_hour,
                                            most));
    finding.observed = per_hour;
    finding.limit = most;
    finding.unit = "per hour";
    finding.remedy = remedy_for(snapshot_, name, outcome);
    tally_.findings.push_back(std::move(finding));
  }

  const Snapshot& snapshot_;
  const IbErrorLimits& limits_;
  Tally& tally_;
};

Finding summary(const Tally& tally) {
  if (tally.judged == 0 && tally.first == 0) {
    return ib::skipped("the port's error counters are refused to virtual functions");
  }
  if (tally.judged == 0) {
    return ib::skipped(
        "first observation in this boot, or counters cleared since: a rate needs an earlier one");
  }
  std::string message =
      fmt::format("{} within their limits", counted(tally.judged, "error counter"));
  if (tally.first > 0)
    message = fmt::format("{}, {} seen for the first time", message, tally.first);
  if (tally.virtual_function) {
    message = fmt::format("{}; on a virtual function a zero proves nothing", message);
  }
  return passed(std::move(message));
}

Findings judge(const Snapshot& snapshot, const Profile& profile) {
  if (auto nothing = ib::no_active_ports(snapshot, profile)) return {*nothing};
  const bool limited = std::ranges::any_of(profile.ib.errors.counters, [](const auto& entry) {
    return entry.second.warn_above_per_hour || entry.second.fail_above_per_hour;
  });
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

constinit const Check ib_errors{
    .id = "ib.errors",
    .title = "InfiniBand error counters rise no faster than their limits",
    .why =
        "A link that corrects, retrains or drops packets is slow for every job and about to fail. "
        "The "
        "counters count since they were last cleared, so only their rise between two runs says "
        "anything, and they stop at their maximum. A virtual function may show zeros or nothing.",
    .fix =
        "Reseat or replace the cable or optic, clear the counters (perfquery -R) and watch. "
        "Constraint "
        "errors point to partition keys, discards to congestion or a dead far end.",
    .needs = Probe::infiniband | Probe::identity,
    .when_absent = WhenAbsent::judge,
    .not_here = ib::no_active_ports,
    .judge = judge,
};

}  // namespace muster::checks
