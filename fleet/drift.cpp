// SPDX-License-Identifier: Apache-2.0
#include "fleet/drift.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <set>
#include <thread>
#include <utility>

#include "fleet/ask.hpp"
#include "fleet/fleet_command.hpp"
#include "fleet/node_intervals.hpp"
#include "lib/base/text.hpp"
#include "lib/fleet/drift.hpp"

namespace muster::fleet {
namespace {

// Degrees. 1.5% of a temperature is less than the changes of the room's temperature.
constexpr double kLeastChange_c = 3;
constexpr std::size_t kRecent_days = 7;

// A change of a node's software restarts all of its series; a replaced part restarts its own.
void add_restarts(DailyValues& values, const QuantityReadings& quantity,
                  const DailyReadings& readings, const NodeChanges& changes) {
  for (std::size_t i = 0; i < quantity.series.size(); ++i) {
    const auto& series = quantity.series[i];
    const auto place = static_cast<std::uint32_t>(i);
    const auto first = changes.first_stack.find(series.node);
    if (first != changes.first_stack.end()) {
      values.restarts.push_back({.day = 0, .series = place, .stack = first->second});
    }
    const auto known = changes.by_node.find(series.node);
    if (known == changes.by_node.end()) continue;
    for (const auto& change : known->second) {
      const bool is_other = !change.device.empty() && change.device != "node" &&
                            change.device != readings.devices[series.device];
      const auto day = change.at / kDay_s - readings.first_day;
      if (is_other || day < 0 || day >= static_cast<std::int64_t>(values.days)) continue;
      values.restarts.push_back(
          {.day = static_cast<std::uint32_t>(day), .series = place, .stack = change.stack});
    }
  }
}

DailyValues take_values(QuantityReadings& quantity) {
  DailyValues values{.series = quantity.series.size(), .days = quantity.days.size()};
  values.values.reserve(values.series * values.days);
  for (auto& day : quantity.days) {
    values.values.insert(values.values.end(), day.begin(), day.end());
    values.values.resize(values.values.size() + values.series - day.size(),
                         std::numeric_limits<float>::quiet_NaN());
    day = {};
  }
  return values;
}

// Returns the changes that at least a tenth of the nodes of a profile had at that time.
std::vector<std::string> changes_of_many(const NodeChanges& changes, const Nodes& nodes,
                                         const std::string& profile, std::int64_t at) {
  constexpr std::size_t kShare = 10;
  std::map<std::string, std::size_t> counts;
  std::size_t all = 0;
  for (const auto& [id, node] : nodes) {
    if (node.profile != profile) continue;
    ++all;
    for (const auto& text : changes.near(id, at)) ++counts[text];
  }
  std::vector<std::string> texts;
  for (const auto& [text, count] : counts) {
    if (count * kShare >= all) {
      texts.push_back(fmt::format("{} on {} of {}", text, count, counted(all, "node")));
    }
  }
  return texts;
}

bool is_of_many_nodes(const QuantityReadings& quantity) {
  std::set<std::int64_t> nodes;
  for (const auto& series : quantity.series) nodes.insert(series.node);
  return nodes.size() >= kFewestNodes;
}

// Merges steps of several quantities at the same time into one.
void add_step(DriftAnswer& answer, StepRow step, const std::string& quantity, double share) {
  const auto same = std::ranges::find_if(answer.steps, [&](const StepRow& each) {
    return each.profile == step.profile && each.day == step.day;
  });
  auto& row = same == answer.steps.end() ? answer.steps.emplace_back(std::move(step)) : *same;
  auto& known = row.shares[quantity];
  if (std::abs(share) > std::abs(known)) known = share;
}

// Quantities differ in size, so each thread takes the next one when it is done.
std::vector<DriftResult> find_all(DailyReadings& readings, const NodeChanges& changes) {
  std::vector<DriftResult> results(readings.quantities.size());
  std::atomic<std::size_t> next = 0;
  const auto work = [&] {
    for (std::size_t i = next++; i < results.size(); i = next++) {
      auto& quantity = readings.quantities[i];
      auto values = take_values(quantity);
      add_restarts(values, quantity, readings, changes);
      const double least_change = quantity.unit == "C" ? kLeastChange_c : 0;
      results[i] =
          find_drift(std::move(values), {.worse = quantity.worse, .least_change = least_change});
    }
  };
  std::vector<std::jthread> threads;
  for (unsigned i = 0; i < std::thread::hardware_concurrency(); ++i) threads.emplace_back(work);
  threads.clear();  // waits
  return results;
}

DriftRow row_of(const Drift& drift, const QuantityReadings& quantity, const DailyReadings& readings,
                const Nodes& nodes, const NodeChanges& changes) {
  const auto& series = quantity.series[drift.series];
  const bool lasts = drift.until + kRecent_days >= quantity.days.size();
  return {.node = nodes.at(series.node).name,
          .device = readings.devices[series.device],
          .profile = quantity.profile,
          .quantity = quantity.quantity,
          .unit = quantity.unit,
          .since = readings.date(drift.since),
          .found = readings.date(drift.found),
          .until = readings.date(drift.until),
          .share = drift.share,
          .recovered = drift.recovered,
          .current = lasts && !drift.recovered,
          .weeks = drift.weeks,
          .changes = changes.near(series.node, readings.time(drift.since))};
}

std::string line_of(const DriftRow& row) {
  auto line = fmt::format("drift    {}{}{}: {} {} since {}", printable(row.node, 60),
                          row.device == "node" ? "" : " ", row.device == "node" ? "" : row.device,
                          row.quantity, percent(row.share), row.since);
  if (row.recovered) line += ", recovered";
  if (!row.current && !row.recovered) line += fmt::format(", until {}", row.until);
  if (!row.changes.empty()) line += fmt::format("; {}", fmt::join(row.changes, ", "));
  return line;
}

std::string line_of(const StepRow& row) {
  std::vector<std::string> shares;
  for (const auto& [quantity, share] : row.shares) {
    shares.push_back(fmt::format("{} {}", quantity, percent(share)));
  }
  return fmt::format("fleet    {} since {}{}{}: no node is accused", fmt::join(shares, ", "),
                     row.day, row.changes.empty() ? "" : "; ", fmt::join(row.changes, ", "));
}

}  // namespace

Result<DriftAnswer> ask_drift(Database& database, const Nodes& nodes, std::int64_t since) {
  std::int64_t first = 0;
  TRY_ASSIGN(const auto oldest, database.whole("SELECT min(at) FROM reading"));
  first = oldest.value_or(0) / kDay_s * kDay_s;
  const auto newest = newest_of(nodes);
  TRY_ASSIGN(auto readings, read_daily(database, nodes, {.from = first, .until = newest + 1}));
  TRY_ASSIGN(const auto changes, read_changes(database));
  DriftAnswer answer{.from = date_of(first), .until = date_of(newest)};
  const auto results = find_all(readings, changes);
  for (std::size_t i = 0; i < results.size(); ++i) {
    const auto& quantity = readings.quantities[i];
    answer.compared += results[i].compared;
    for (const auto& drift : results[i].drifts) {
      if (readings.time(drift.found) < since) continue;
      answer.drifts.push_back(row_of(drift, quantity, readings, nodes, changes));
    }
    if (!is_of_many_nodes(quantity)) continue;
    for (const auto& step : results[i].steps) {
      const auto at = readings.time(step.day);
      if (at < since) continue;
      StepRow row{.profile = quantity.profile,
                  .day = readings.date(step.day),
                  .changes = changes_of_many(changes, nodes, quantity.profile, at)};
      add_step(answer, std::move(row), quantity.quantity, step.share);
    }
  }
  std::ranges::stable_sort(answer.drifts, [](const DriftRow& a, const DriftRow& b) {
    return std::pair(!a.current, -std::abs(a.share)) < std::pair(!b.current, -std::abs(b.share));
  });
  std::ranges::stable_sort(answer.steps, {}, &StepRow::day);
  return answer;
}

std::string drift_text(const DriftAnswer& answer, std::size_t width) {
  std::vector<std::string> lines{
      fmt::format("drift    from {} to {}: {} series compared with their peers, {} worse",
                  answer.from, answer.until, answer.compared, answer.drifts.size())};
  for (const auto& row : answer.steps) lines.push_back(line_of(row));
  for (const auto& row : answer.drifts) lines.push_back(line_of(row));
  return screen(lines, width);
}

}  // namespace muster::fleet

namespace muster::app {

int run_fleet_drift(const FleetCommand& command, const Caller& caller) {
  return fleet::answer_question(
      command, caller,
      [&](fleet::Database& database, const fleet::Nodes& nodes) {
        return fleet::ask_drift(database, nodes, fleet::since_of(command, nodes));
      },
      fleet::drift_text);
}

}  // namespace muster::app
