// SPDX-License-Identifier: Apache-2.0
#include "fleet/diff.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "fleet/ask.hpp"
#include "fleet/fleet_command.hpp"
#include "fleet/node_intervals.hpp"
#include "lib/base/text.hpp"
#include "lib/fleet/difference.hpp"
#include "lib/hosts/hostlist.hpp"

namespace muster::fleet {
namespace {

constexpr std::int64_t kWeek_s = 7 * kDay_s;

struct DiffSide {
  std::string name;
  ReadingsFilter filter;
  std::set<std::int64_t> nodes;  // empty: all

  [[nodiscard]] bool has(std::int64_t node) const { return nodes.empty() || nodes.contains(node); }

  [[nodiscard]] std::string shown() const {
    return fmt::format("{} ({} to {})", name, date_of(filter.from), date_of(filter.until - 1));
  }
};

Result<std::set<std::int64_t>> nodes_named(const Nodes& nodes, std::string_view list) {
  TRY_ASSIGN(const auto names, expand_hostlist(list));
  const std::set<std::string> wanted(names.begin(), names.end());
  std::set<std::int64_t> ids;
  for (const auto& [id, node] : nodes) {
    if (wanted.contains(node.name)) ids.insert(id);
  }
  if (!ids.empty()) return ids;
  return make_error(fmt::format("{}: no such node in the store", printable(list, 80)));
}

Result<DiffSide> side_of_run(Database& database, std::string_view name) {
  DiffSide side{.name = printable(name, 80), .filter = {}, .nodes = {}};
  TRY(database.each(
      "SELECT run.id, min(report.at), max(report.at) FROM run JOIN report ON report.run = run.id "
      "WHERE run.name = ? GROUP BY run.id",
      [&](const Row& row) {
        side.filter = {.from = row.whole(1), .until = row.whole(2) + 1, .run = row.whole(0)};
      },
      name));
  if (side.filter.run) return side;
  return make_error(fmt::format(
      "\"{}\" is neither a date (2026-11-20), nor NODES@DATE, nor the id of an acceptance",
      printable(name, 80)));
}

Result<DiffSide> side_of(Database& database, const Nodes& nodes, std::string_view text) {
  const auto at = text.rfind('@');
  const auto when = text.substr(at == std::string_view::npos ? 0 : at + 1);
  const auto from = parse_time(when, newest_of(nodes));
  if (!from || when.empty()) return side_of_run(database, text);
  DiffSide side{.name = printable(text, 80),
                .filter = {.from = *from, .until = *from + kWeek_s},
                .nodes = {}};
  if (at != std::string_view::npos) {
    TRY_ASSIGN(side.nodes, nodes_named(nodes, text.substr(0, at)));
  }
  return side;
}

using QuantityKey = std::tuple<std::string, std::string, std::string, std::string>;
using DeviceKey = std::pair<std::int64_t, std::string>;
using ByDevice = std::map<DeviceKey, double>;

Result<std::map<QuantityKey, ByDevice>> values_of(Database& database, const Nodes& nodes,
                                                  const DiffSide& side) {
  auto filter = side.filter;
  filter.is_of = [&](std::int64_t node) { return side.has(node); };
  TRY_ASSIGN(const auto medians, read_medians(database, nodes, filter));
  std::map<QuantityKey, ByDevice> values;
  for (const auto& quantity : medians.quantities) {
    auto& by_device =
        values[{quantity.profile, quantity.quantity, quantity.unit, quantity.conditions}];
    for (const auto& each : quantity.medians) {
      by_device[{each.node, medians.devices[each.device]}] = each.value;
    }
  }
  return values;
}

double center_of(const ByDevice& by_device) {
  std::vector<double> values;
  for (const auto& [device, value] : by_device) values.push_back(value);
  return median_of(std::move(values));
}

std::optional<QuantityDifference> difference_of(const QuantityKey& key, const ByDevice& before,
                                                const ByDevice& after) {
  std::vector<std::pair<double, double>> pairs;
  std::vector<double> first, second;
  for (const auto& [device, value] : before) {
    const auto other = after.find(device);
    if (other != after.end()) pairs.emplace_back(value, other->second);
    first.push_back(value);
  }
  for (const auto& [device, value] : after) second.push_back(value);
  const bool paired = 2 * pairs.size() >= std::min(first.size(), second.size());
  const auto difference = paired ? difference_of_pairs(pairs) : difference_of_groups(first, second);
  if (!difference) return std::nullopt;
  QuantityDifference found{.profile = std::get<0>(key),
                           .quantity = std::get<1>(key),
                           .unit = std::get<2>(key),
                           .count = difference->count,
                           .paired = paired,
                           .before = center_of(before),
                           .after = center_of(after),
                           .share = difference->share};
  if (difference->interval) {
    std::tie(found.low, found.high) =
        std::pair(difference->interval->low, difference->interval->high);
  }
  return found;
}

// Sorts by whether the interval excludes 0, then by the size of the difference.
std::pair<bool, double> weight_of(const QuantityDifference& row) {
  const bool is_certain = row.low && (*row.low > 0 || *row.high < 0);
  return {!is_certain, -std::abs(row.share)};
}

using NodesByText = std::map<std::string, std::set<std::string>>;

std::vector<CountedText> counted_texts(const NodesByText& by_text) {
  std::vector<CountedText> rows;
  for (const auto& [text, nodes] : by_text) rows.push_back({text, {nodes.begin(), nodes.end()}});
  std::ranges::stable_sort(rows, [](const CountedText& a, const CountedText& b) {
    return a.nodes.size() > b.nodes.size();
  });
  return rows;
}

// Returns the incidents that were open during a side, by check.
Result<NodesByText> failing_in(Database& database, const Nodes& nodes, const DiffSide& side) {
  NodesByText failing;
  TRY(database.each(
      "SELECT node, cause FROM incident WHERE started < ?2 AND coalesce(ended, ?2) > ?1",
      [&](const Row& row) {
        const auto node = nodes.find(row.whole(0));
        if (node == nodes.end() || !side.has(row.whole(0))) return;
        failing[std::string(row.text(1))].insert(node->second.name);
      },
      side.filter.from, side.filter.until));
  return failing;
}

// Returns the entries of one side that the other does not have.
std::vector<CountedText> only_in(const NodesByText& one, const NodesByText& other) {
  NodesByText rest;
  for (const auto& [text, nodes] : one) {
    const auto known = other.find(text);
    for (const auto& node : nodes) {
      if (known == other.end() || !known->second.contains(node)) rest[text].insert(node);
    }
  }
  return counted_texts(rest);
}

// Prints more digits, because a large fleet shows differences of hundredths of a percent.
std::string fine_percent(double share) { return fmt::format("{:+.2f}%", 100 * share); }

std::string line_of(const QuantityDifference& row, bool names_profile) {
  const auto interval =
      row.low ? fmt::format(" ({} to {})", fine_percent(*row.low), fine_percent(*row.high)) : "";
  return fmt::format("{:9}{}{}: {}{}, {} to {}; {}{}", "", row.quantity,
                     names_profile ? fmt::format(" of {}", printable(row.profile, 40)) : "",
                     fine_percent(row.share), interval, number(row.before),
                     with_unit(row.after, row.unit), counted(row.count, "device"),
                     row.paired ? "" : ", not the same ones");
}

std::string line_of(std::string_view word, const CountedText& row) {
  return fmt::format("{:9}{}: {}: {}", word, row.text, counted(row.nodes.size(), "node"),
                     printable(fold_hostlist(row.nodes), 4000));
}

}  // namespace

Result<DiffAnswer> ask_diff(Database& database, const Nodes& nodes, std::string_view before,
                            std::string_view after) {
  TRY_ASSIGN(const auto first, side_of(database, nodes, before));
  TRY_ASSIGN(const auto second, side_of(database, nodes, after));
  DiffAnswer answer{.before = first.shown(), .after = second.shown()};
  TRY_ASSIGN(const auto values, values_of(database, nodes, first));
  TRY_ASSIGN(const auto others, values_of(database, nodes, second));
  for (const auto& [side, found] : {std::pair(&first, &values), {&second, &others}}) {
    if (found->empty()) return make_error("{}: the store has no values for it", side->shown());
  }
  for (const auto& [key, by_device] : values) {
    const auto other = others.find(key);
    if (other == others.end()) continue;
    if (auto found = difference_of(key, by_device, other->second)) {
      answer.quantities.push_back(*std::move(found));
    }
  }
  std::ranges::stable_sort(answer.quantities, {}, weight_of);
  NodesByText changed;
  TRY_ASSIGN(const auto changes, read_changes(database));
  for (const auto& [id, of_node] : changes.by_node) {
    const auto node = nodes.find(id);
    if (node == nodes.end() || !first.has(id) || !second.has(id)) continue;
    for (const auto& change : of_node) {
      const bool is_between = change.at > first.filter.from && change.at < second.filter.until;
      if (is_between && !change.text.empty()) changed[change.text].insert(node->second.name);
    }
  }
  answer.changes = counted_texts(changed);
  TRY_ASSIGN(const auto failed, failing_in(database, nodes, first));
  TRY_ASSIGN(const auto fails, failing_in(database, nodes, second));
  answer.newly_failing = only_in(fails, failed);
  answer.cured = only_in(failed, fails);
  return answer;
}

std::string diff_text(const DiffAnswer& answer, std::size_t width) {
  std::vector<std::string> lines{fmt::format("diff     {} and {}", answer.before, answer.after)};
  const bool has_several = std::ranges::any_of(answer.quantities, [&](const auto& row) {
    return row.profile != answer.quantities.front().profile;
  });
  for (const auto& row : answer.quantities) lines.push_back(line_of(row, has_several));
  for (const auto& row : answer.changes) lines.push_back(line_of("changed", row));
  for (const auto& row : answer.newly_failing) lines.push_back(line_of("failing", row));
  for (const auto& row : answer.cured) lines.push_back(line_of("cured", row));
  return screen(lines, width);
}

}  // namespace muster::fleet

namespace muster::app {

int run_fleet_diff(const FleetCommand& command, const Caller& caller) {
  return fleet::answer_question(
      command, caller,
      [&](fleet::Database& database, const fleet::Nodes& nodes) {
        return fleet::ask_diff(database, nodes, command.words.at(0), command.words.at(1));
      },
      fleet::diff_text);
}

}  // namespace muster::app
