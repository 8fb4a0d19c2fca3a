// SPDX-License-Identifier: Apache-2.0
#include "fleet/whatif.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <thread>
#include <tuple>
#include <unordered_map>

#include "fleet/ask.hpp"
#include "fleet/fleet_command.hpp"
#include "fleet/store.hpp"
#include "lib/base/in_order.hpp"
#include "lib/base/text.hpp"
#include "lib/hosts/hostlist.hpp"
#include "lib/node/snapshot.hpp"
#include "lib/statistics/statistics.hpp"

namespace muster::fleet {
namespace {

constexpr std::int64_t kAnnounce_s = 30 * kDay_s;

std::string month_of(std::int64_t time) { return date_of(time).substr(0, 7); }

std::vector<WhatifMonth> months_of(const std::map<std::string, WhatifMonth>& months) {
  std::vector<WhatifMonth> rows;
  for (const auto& [name, month] : months) {
    rows.push_back(month);
    rows.back().month = name;
  }
  return rows;
}

// The times of a check's findings, or of incidents, on a device of a node.
struct DeviceTimes {
  std::int64_t started = 0, ended = 0;
};

using DeviceKey = std::pair<std::int64_t, std::string>;

struct Alarm {
  std::int64_t at = 0, node = 0;
  std::uint32_t device = 0;

  auto operator<=>(const Alarm&) const = default;
};

// The layouts, and the findings of the check by node and device.
struct WatchedCheck {
  struct Place {
    std::size_t at = 0;  // index in the values of a layout
    std::uint32_t device = 0;
  };

  std::vector<std::string> devices;
  std::unordered_map<std::int64_t, std::vector<Place>> places;  // by layout
  std::map<DeviceKey, std::vector<DeviceTimes>> findings;
};

// Follows the values of one quantity in one part of the time range. The state before a device's
// first value is unknown until this part is joined with the previous one.
class ValueWatch {
 public:
  struct State {
    bool beyond = false, finding = false;
  };

  ValueWatch(const Nodes& nodes, const ValueLimit& limit, const WatchedCheck& check)
      : nodes_(&nodes), limit_(&limit), check_(&check) {}

  Result<void> read(Database& database, const TimeRange& part) {
    return database.each(
        "SELECT at, node, layout, vals FROM reading WHERE at >= ? AND at < ? "
        "ORDER BY at, node, sum",
        [&](const Row& row) { add(row.whole(0), row.whole(1), row.whole(2), row.text(3)); },
        part.first, part.second);
  }

  void join(const ValueWatch& later) {
    judged += later.judged;
    alarms.insert(alarms.end(), later.alarms.begin(), later.alarms.end());
    for (const auto& [name, month] : later.months) {
      months[name].newly += month.newly;
      months[name].cured += month.cured;
    }
    for (const auto& [node, devices] : later.watched_) {
      auto& own = watched_[node];
      own.resize(devices.size());
      for (std::uint32_t i = 0; i < devices.size(); ++i) {
        if (!devices[i].first_at) continue;
        count(*devices[i].first_at, node, i, own[i].now, devices[i].first);
        own[i].now = devices[i].now;
      }
    }
  }

  // Calls `visit(node, state)` for each device.
  template <class Visit>
  void each_state(const Visit& visit) const {
    for (const auto& [node, devices] : watched_) {
      for (const auto& device : devices) visit(node, device.now);
    }
  }

  std::uint64_t judged = 0;
  std::map<std::string, WhatifMonth> months;
  std::vector<Alarm> alarms;

 private:
  struct Watched {
    State now, first;
    std::optional<std::int64_t> first_at;
    const std::vector<DeviceTimes>* findings = nullptr;  // of the check, if it has any
  };

  void add(std::int64_t at, std::int64_t node, std::int64_t layout, std::string_view vals) {
    const auto places = check_->places.find(layout);
    if (places == check_->places.end()) return;
    auto& watched = watched_[node];
    if (watched.empty()) watched = new_devices(node);
    for (const auto& place : places->second) {
      float value = 0;
      if ((place.at + 1) * sizeof value > vals.size()) continue;
      std::memcpy(&value, vals.data() + place.at * sizeof value, sizeof value);
      ++judged;
      auto& device = watched[place.device];
      const State next{.beyond = limit_->is_beyond(static_cast<double>(value)),
                       .finding = is_found(device, at)};
      if (device.first_at) {
        count(at, node, place.device, device.now, next);
      } else {
        device.first_at = at;
        device.first = next;
      }
      device.now = next;
    }
  }

  void count(std::int64_t at, std::int64_t node, std::uint32_t device, const State& before,
             const State& now) {
    if (now.beyond && !before.beyond && nodes_->contains(node)) {
      alarms.push_back({at, node, device});
      if (!now.finding) ++months[month_of(at)].newly;
    }
    if (now.finding && !now.beyond && !before.finding) ++months[month_of(at)].cured;
  }

  [[nodiscard]] std::vector<Watched> new_devices(std::int64_t node) const {
    std::vector<Watched> devices(check_->devices.size());
    for (std::size_t i = 0; i < devices.size(); ++i) {
      const auto known = check_->findings.find({node, check_->devices[i]});
      if (known != check_->findings.end()) devices[i].findings = &known->second;
    }
    return devices;
  }

  [[nodiscard]] static bool is_found(const Watched& device, std::int64_t at) {
    return device.findings != nullptr &&
           std::ranges::any_of(*device.findings, [&](const DeviceTimes& each) {
             return each.started <= at && at < each.ended;
           });
  }

  const Nodes* nodes_;
  const ValueLimit* limit_;
  const WatchedCheck* check_;
  std::unordered_map<std::int64_t, std::vector<Watched>> watched_;  // by node; then by device
};

class ValueQuestion {
 public:
  ValueQuestion(Database& database, const Nodes& nodes, const ValueLimit& limit)
      : database_(database), nodes_(nodes), limit_(limit) {}

  Result<WhatifAnswer> run(std::int64_t since) {
    TRY(read_positions());
    TRY(read_findings());
    TRY_ASSIGN(const auto parts,
               parts_of(database_, since, std::numeric_limits<std::int64_t>::max()));
    const auto made = make_parts(
        database_, parts, [this](Database& own, const TimeRange& part) -> Result<ValueWatch> {
          ValueWatch watch(nodes_, limit_, check_);
          TRY(watch.read(own, part));
          return watch;
        });
    ValueWatch all(nodes_, limit_, check_);
    for (const auto& part : made) {
      if (!part) return tl::unexpected(part.error());
      all.join(*part);
    }
    std::ranges::sort(all.alarms);
    conclude(all);
    TRY(compare_with_incidents(all.alarms, since));
    answer_.settings = {limit_.setting};
    answer_.basis = "values";
    answer_.months = months_of(all.months);
    return std::move(answer_);
  }

 private:
  Result<void> read_positions() {
    std::map<std::string, std::uint32_t, std::less<>> known;
    return database_.each(
        "SELECT layout, place, device FROM position WHERE quantity = ? ORDER BY layout, place",
        [&](const Row& row) {
          const auto [device, is_new] =
              known.try_emplace(std::string(row.text(2)), static_cast<std::uint32_t>(known.size()));
          if (is_new) check_.devices.emplace_back(row.text(2));
          check_.places[row.whole(0)].push_back(
              {static_cast<std::size_t>(row.whole(1)), device->second});
        },
        limit_.check);
  }

  Result<void> read_findings() {
    return database_.each(
        "SELECT node, device, started, coalesce(ended, last + 1) FROM finding WHERE check_id = ? "
        "AND outcome IN ('fail', 'warn')",
        [&](const Row& row) {
          check_.findings[{row.whole(0), std::string(row.text(1))}].push_back(
              {row.whole(2), row.whole(3)});
        },
        limit_.check);
  }

  void conclude(const ValueWatch& all) {
    std::set<std::string> failing, cured;
    all.each_state([&](std::int64_t id, const ValueWatch::State& state) {
      const auto node = nodes_.find(id);
      if (node == nodes_.end()) return;
      if (state.beyond && !state.finding) failing.insert(node->second.name);
      if (!state.beyond && state.finding) cured.insert(node->second.name);
    });
    answer_.newly_failing = {failing.begin(), failing.end()};
    answer_.cured = {cured.begin(), cured.end()};
    answer_.alarms = all.alarms.size();
    answer_.judged = all.judged;
  }

  // An incident belongs to an alarm on its device, or to any alarm on its node if it has no device.
  Result<void> compare_with_incidents(const std::vector<Alarm>& all, std::int64_t since) {
    std::map<DeviceKey, std::vector<std::int64_t>> alarms;
    for (const auto& [at, node, device] : all) {
      alarms[{node, check_.devices[device]}].push_back(at);
    }
    std::set<std::pair<DeviceKey, std::int64_t>> used;
    std::vector<double> leads;
    TRY(database_.each(
        "SELECT node, device, started FROM incident WHERE started >= ? ORDER BY started",
        [&](const Row& row) {
          const DeviceKey key(row.whole(0), std::string(row.text(1)));
          const auto known = alarms.find(key);
          if (known == alarms.end()) return;
          const auto at = row.whole(2);
          std::optional<std::int64_t> first;
          for (const auto alarm : known->second) {
            if (alarm > at || at - alarm > kAnnounce_s) continue;
            used.insert({key, alarm});
            if (!first) first = alarm;
          }
          if (first) leads.push_back(static_cast<double>(at - *first) / kDay_s);
        },
        since));
    answer_.announced = leads.size();
    if (!leads.empty()) answer_.lead_days = median_of(std::move(leads));
    answer_.without_incident = answer_.alarms - used.size();
    return {};
  }

  Database& database_;
  const Nodes& nodes_;
  const ValueLimit& limit_;
  WatchedCheck check_;
  WhatifAnswer answer_;
};

std::set<std::string> failing_checks(const std::vector<Finding>& findings) {
  std::set<std::string> checks;
  for (const auto& finding : findings) {
    const bool fails = finding.outcome == Outcome::fail || finding.outcome == Outcome::warn;
    if (fails) checks.insert(finding.check);
  }
  return checks;
}

struct StoredSnapshot {
  std::int64_t node = 0, at = 0;
  std::string document;
};

struct Verdicts {
  std::int64_t node = 0, at = 0;
  bool newly = false, cured = false;
};

Result<Verdicts> judge_one(const StoredSnapshot& stored, const JudgeTwice& judge) {
  TRY_ASSIGN(const auto text, decompressed(stored.document));
  TRY_ASSIGN(const auto snapshot, parse_snapshot(text));
  TRY_ASSIGN(const auto findings, judge(snapshot));
  const auto before = failing_checks(findings.first), after = failing_checks(findings.second);
  return Verdicts{.node = stored.node,
                  .at = stored.at,
                  .newly = !std::ranges::includes(before, after),
                  .cured = !std::ranges::includes(after, before)};
}

}  // namespace

Result<std::optional<ValueLimit>> value_limit(Database& database, std::string_view setting) {
  const auto equals = setting.find('=');
  const auto key = setting.substr(0, equals);
  const auto dot = key.rfind('.');
  if (equals == std::string_view::npos || dot == std::string_view::npos) return std::nullopt;
  constexpr std::array kAbove{"fail_above", "warn_above"}, kBelow{"fail_below", "warn_below"};
  const auto name = key.substr(dot + 1);
  const bool above = std::ranges::find(kAbove, name) != kAbove.end();
  if (!above && std::ranges::find(kBelow, name) == kBelow.end()) return std::nullopt;
  ValueLimit limit{
      .check = std::string(key.substr(0, dot)), .setting = std::string(setting), .above = above};
  std::set<std::string> units;
  TRY(database.each(
      "SELECT DISTINCT unit FROM position WHERE quantity = ? AND conditions = ''",
      [&](const Row& row) { units.emplace(row.text(0)); }, limit.check));
  if (units.size() != 1) return std::nullopt;
  // "80", "80C" or "80 C".
  auto value = trim(setting.substr(equals + 1));
  if (value.ends_with(*units.begin())) value.remove_suffix(units.begin()->size());
  const auto number = parse_number(trim(value));
  if (!number) return std::nullopt;
  limit.limit = *number;
  return limit;
}

Result<WhatifAnswer> whatif_by_values(Database& database, const Nodes& nodes,
                                      const ValueLimit& limit, std::int64_t since) {
  return ValueQuestion(database, nodes, limit).run(since);
}

Result<WhatifAnswer> whatif_by_snapshots(Database& database, const Nodes& nodes,
                                         const JudgeTwice& judge, bool all, std::int64_t since) {
  std::vector<StoredSnapshot> stored;
  TRY(database.each(
      all ? "SELECT node, at, document FROM snapshot WHERE at >= ? ORDER BY node, at"
          : "SELECT node, max(at), document FROM snapshot WHERE at >= ? GROUP BY node",
      [&](const Row& row) {
        if (!nodes.contains(row.whole(0))) return;
        stored.push_back({row.whole(0), row.whole(1), std::string(row.text(2))});
      },
      since));
  WhatifAnswer answer{.basis = "snapshots", .judged = stored.size(), .lead_days = {}};
  std::map<std::string, WhatifMonth> months;
  std::map<std::int64_t, Verdicts> newest;
  Result<void> done;
  make_in_order(
      stored.size(), std::thread::hardware_concurrency(),
      [&](std::size_t i) { return judge_one(stored[i], judge); },
      [&](const Result<Verdicts>& verdicts) {
        if (!verdicts) {
          done = tl::unexpected(verdicts.error());
          return false;
        }
        auto& month = months[month_of(verdicts->at)];
        if (verdicts->newly) ++month.newly;
        if (verdicts->cured) ++month.cured;
        newest[verdicts->node] = *verdicts;
        return true;
      });
  TRY(done);
  for (const auto& [id, verdicts] : newest) {
    const auto& name = nodes.at(id).name;
    if (verdicts.newly) answer.newly_failing.push_back(name);
    if (verdicts.cured) answer.cured.push_back(name);
  }
  if (all) answer.months = months_of(months);
  return answer;
}

std::string whatif_text(const WhatifAnswer& answer, std::size_t width) {
  std::vector<std::string> lines{fmt::format("whatif   {}: {} {} judged again",
                                             fmt::join(answer.settings, ", "), answer.judged,
                                             answer.basis)};
  for (const auto& [word, what, nodes] :
       {std::tuple("newly", " fail or warn", answer.newly_failing), {"cured", "", answer.cured}}) {
    lines.push_back(fmt::format(
        "{:9}{}{}{}", word, counted(nodes.size(), "node"), what,
        nodes.empty() ? "" : fmt::format(": {}", printable(fold_hostlist(nodes), 4000))));
  }
  for (const auto& month : answer.months) {
    lines.push_back(
        fmt::format("{:9}{}: {} newly, {} cured", "", month.month, month.newly, month.cured));
  }
  if (answer.basis == "values") {
    lines.push_back(
        fmt::format("alarms   {}, of which {} without an incident of the device within 30 days",
                    answer.alarms, answer.without_incident));
    lines.push_back(fmt::format(
        "early    {} announced{}", counted(answer.announced, "incident"),
        answer.lead_days ? fmt::format(", {:.1f} days before in the median", *answer.lead_days)
                         : ""));
  }
  return screen(lines, width);
}

}  // namespace muster::fleet

namespace muster::app {

int run_fleet_whatif(const FleetCommand& command, const Caller& caller,
                     const fleet::JudgeTwice& judge) {
  // Judging a snapshot only fails because of a profile.
  std::atomic<bool> is_refused = false;
  const auto noting = [&](const Snapshot& snapshot) {
    auto findings = judge(snapshot);
    if (!findings) is_refused = true;
    return findings;
  };
  const int status = fleet::answer_question(
      command, caller,
      [&](fleet::Database& database, const fleet::Nodes& nodes) -> Result<fleet::WhatifAnswer> {
        const auto since = fleet::since_of(command, nodes);
        std::optional<fleet::ValueLimit> limit;
        if (command.settings.size() == 1 && !command.all) {
          TRY_ASSIGN(limit, fleet::value_limit(database, command.settings.front()));
        }
        if (limit) return fleet::whatif_by_values(database, nodes, *limit, since);
        TRY_ASSIGN(auto answer,
                   fleet::whatif_by_snapshots(database, nodes, noting, command.all, since));
        answer.settings = command.settings;
        return answer;
      },
      fleet::whatif_text);
  return is_refused ? kExitConfiguration : status;
}

}  // namespace muster::app
