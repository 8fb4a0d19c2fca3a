// SPDX-License-Identifier: Apache-2.0
#include "fleet/odd.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <unordered_map>

#include "fleet/ask.hpp"
#include "fleet/fleet_command.hpp"
#include "lib/base/json_read.hpp"
#include "lib/base/text.hpp"
#include "lib/fleet/odd.hpp"
#include "lib/hosts/hostlist.hpp"
#include "lib/node/parts.hpp"

namespace muster::fleet {
namespace {

constexpr std::int64_t kDays = 7;
constexpr std::size_t kFewest = 8;

using Versions = ByName<std::string>;

// The software of a node by its newest report that lists it.
Result<Versions> facts_of(Database& database, std::int64_t node) {
  std::string stack, parts;
  TRY(database.each(
      "SELECT stack FROM report JOIN setup ON setup.id = setup WHERE node = ? AND stack <> '' "
      "ORDER BY at DESC LIMIT 1",
      [&](const Row& row) { stack = row.text(0); }, node));
  TRY(database.each(
      "SELECT parts FROM report JOIN fitting ON fitting.id = fitting WHERE node = ? "
      "ORDER BY at DESC LIMIT 1",
      [&](const Row& row) { parts = row.text(0); }, node));
  Versions facts;
  if (!stack.empty()) {
    TRY_ASSIGN(facts, from_json<Versions>(stack));
  }
  if (!parts.empty()) {
    TRY_ASSIGN(const auto listed, from_json<std::vector<Part>>(parts));
    for (const auto& [kind, all] : firmware_of(listed)) {
      facts[fmt::format("{} firmware", kind)] = fmt::format("{}", fmt::join(all, " and "));
    }
  }
  return facts;
}

void add_odd_values(OddAnswer& answer, const Nodes& nodes, const DailyReadings& readings,
                    const QuantityReadings& quantity) {
  std::vector<double> values;
  std::vector<std::size_t> places;
  const auto medians = medians_of(quantity);
  for (std::size_t i = 0; i < medians.size(); ++i) {
    if (!medians[i]) continue;
    values.push_back(*medians[i]);
    places.push_back(i);
  }
  answer.values += values.size();
  const auto odd = find_odd_values(values, quantity.worse);
  for (const auto place : odd.places) {
    const auto& series = quantity.series[places[place]];
    answer.odd_values.push_back({.node = nodes.at(series.node).name,
                                 .device = readings.devices[series.device],
                                 .profile = quantity.profile,
                                 .quantity = quantity.quantity,
                                 .unit = quantity.unit,
                                 .value = values[place],
                                 .center = odd.peers.center,
                                 .limit = odd.limit,
                                 .share = values[place] / odd.peers.center - 1});
  }
}

std::string line_of(const OddValueRow& row) {
  return fmt::format("value    {} {}: {} {}, {} against {} of its peers; limit {}",
                     printable(row.node, 60), row.device == "node" ? "" : row.device, row.quantity,
                     with_unit(row.value, row.unit), percent(row.share), number(row.center),
                     number(row.limit));
}

std::string line_of(const OddFactRow& row) {
  return fmt::format("fact     {} {}, most have {}: {}: {}", row.fact, row.value, row.usual,
                     counted(row.nodes.size(), "node"), printable(fold_hostlist(row.nodes), 4000));
}

}  // namespace

Result<OddAnswer> ask_odd(Database& database, const Nodes& nodes) {
  const auto newest = newest_of(nodes);
  const auto until = (newest / kDay_s + 1) * kDay_s;
  OddAnswer answer{.from = date_of(until - kDays * kDay_s), .until = date_of(newest)};
  std::map<std::string, std::uint64_t> profiles;
  std::vector<NodeFacts> facts;
  const auto is_recent = [&](const NodeName& node) {
    return node.last.value_or(0) >= until - kDays * kDay_s;
  };
  for (const auto& [id, node] : nodes) {
    if (!is_recent(node)) continue;
    ++profiles[node.profile];
    TRY_ASSIGN(auto versions, facts_of(database, id));
    facts.push_back({node.name, node.profile, std::move(versions)});
  }
  answer.nodes = facts.size();
  TRY_ASSIGN(const auto readings,
             read_daily(database, nodes, {.from = until - kDays * kDay_s, .until = until}));
  for (const auto& quantity : readings.quantities) {
    if (profiles[quantity.profile] < kFewest) continue;
    add_odd_values(answer, nodes, readings, quantity);
  }
  std::ranges::stable_sort(answer.odd_values, [](const OddValueRow& a, const OddValueRow& b) {
    return std::abs(a.share) > std::abs(b.share);
  });
  for (auto& odd : find_odd_facts(facts, kFewest)) {
    answer.odd_facts.push_back({.profile = std::move(odd.group),
                                .fact = std::move(odd.fact),
                                .value = std::move(odd.value),
                                .usual = std::move(odd.usual),
                                .nodes = std::move(odd.nodes)});
  }
  for (const auto& [profile, count] : profiles) {
    if (count < kFewest) answer.too_few.push_back({.profile = profile, .nodes = count});
  }
  return answer;
}

std::string odd_text(const OddAnswer& answer, std::size_t width) {
  std::vector<std::string> lines{fmt::format("odd      {} from {} to {}: {} compared",
                                             counted(answer.nodes, "node"), answer.from,
                                             answer.until, counted(answer.values, "value"))};
  for (const auto& row : answer.odd_values) lines.push_back(line_of(row));
  for (const auto& row : answer.odd_facts) lines.push_back(line_of(row));
  for (const auto& group : answer.too_few) {
    lines.push_back(fmt::format("too few  {} of profile {}, fewer than {} cannot be compared",
                                counted(group.nodes, "node"), group.profile, kFewest));
  }
  if (answer.odd_values.empty() && answer.odd_facts.empty()) lines.emplace_back("none     is odd");
  return screen(lines, width);
}

}  // namespace muster::fleet

namespace muster::app {

int run_fleet_odd(const FleetCommand& command, const Caller& caller) {
  return fleet::answer_question(
      command, caller,
      [&](fleet::Database& database) -> Result<fleet::OddAnswer> {
        TRY_ASSIGN(const auto nodes, fleet::read_nodes(database, command.cluster));
        return fleet::ask_odd(database, nodes);
      },
      fleet::odd_text);
}

}  // namespace muster::app
