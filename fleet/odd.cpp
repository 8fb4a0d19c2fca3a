// SPDX-License-Identifier: Apache-2.0
#include "fleet/odd.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <future>
#include <iterator>
#include <map>
#include <thread>
#include <unordered_map>
#include <utility>

#include "fleet/ask.hpp"
#include "fleet/fleet_command.hpp"
#include "lib/base/in_order.hpp"
#include "lib/base/json_read.hpp"
#include "lib/base/text.hpp"
#include "lib/fleet/odd.hpp"
#include "lib/hosts/hostlist.hpp"
#include "lib/node/parts.hpp"

namespace muster::fleet {
namespace {

constexpr std::int64_t kDays = 7;

using Versions = ByName<std::string>;

// Reads the software of nodes from the newest report of each that lists it.
class SoftwareReader {
 public:
  explicit SoftwareReader(Database& database) : database_(database) {}

  Result<Versions> read(std::int64_t node) {
    std::string parts;
    TRY(database_.each(
        "SELECT stack FROM report JOIN setup ON setup.id = setup WHERE node = ? AND stack <> '' "
        "ORDER BY at DESC LIMIT 1",
        [&](const Row& row) { stack_ = row.text(0); }, node));
    TRY(database_.each(
        "SELECT parts FROM fitted JOIN fitting ON fitting.id = fitting WHERE node = ? "
        "ORDER BY started DESC LIMIT 1",
        [&](const Row& row) { parts = row.text(0); }, node));
    const auto [known, is_new] = stacks_.try_emplace(std::exchange(stack_, ""));
    if (is_new && !known->first.empty()) {
      TRY_ASSIGN(known->second, from_json<Versions>(known->first));
    }
    auto facts = known->second;
    if (parts.empty()) return facts;
    TRY_ASSIGN(const auto listed, from_json<std::vector<Part>>(parts));
    for (const auto& [kind, all] : firmware_of(listed)) {
      facts[fmt::format("{} firmware", kind)] = fmt::format("{}", fmt::join(all, " and "));
    }
    return facts;
  }

 private:
  Database& database_;
  std::string stack_;
  std::unordered_map<std::string, Versions> stacks_;  // by their JSON
};

std::vector<OddValueRow> odd_values_of(const Nodes& nodes, const Medians& medians,
                                       const QuantityMedians& quantity) {
  std::vector<double> values;
  for (const auto& each : quantity.medians) values.push_back(each.value);
  const auto odd = find_odd_values(values, quantity.worse);
  std::vector<OddValueRow> rows;
  for (const auto place : odd.places) {
    const auto& each = quantity.medians[place];
    rows.push_back({.node = nodes.at(each.node).name,
                    .device = medians.devices[each.device],
                    .profile = quantity.profile,
                    .quantity = quantity.quantity,
                    .unit = quantity.unit,
                    .value = each.value,
                    .center = odd.peers.center,
                    .limit = odd.limit,
                    .share = each.value / odd.peers.center - 1});
  }
  return rows;
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
  std::vector<std::int64_t> recent;
  for (const auto& [id, node] : nodes) {
    if (node.last.value_or(0) < until - kDays * kDay_s) continue;
    ++profiles[node.profile];
    recent.push_back(id);
  }
  answer.nodes = recent.size();
  auto facts = std::async(std::launch::async, [&]() -> Result<std::vector<NodeFacts>> {
    TRY_ASSIGN(auto own, database.open_again());
    SoftwareReader software(own);
    std::vector<NodeFacts> all;
    for (const auto id : recent) {
      TRY_ASSIGN(auto versions, software.read(id));
      all.push_back({nodes.at(id).name, nodes.at(id).profile, std::move(versions)});
    }
    return all;
  });
  TRY_ASSIGN(auto medians,
             read_medians(database, nodes, {.from = until - kDays * kDay_s, .until = until}));
  std::erase_if(medians.quantities,
                [&](const auto& each) { return profiles[each.profile] < kFewestNodes; });
  make_in_order(
      medians.quantities.size(), std::thread::hardware_concurrency(),
      [&](std::size_t i) { return odd_values_of(nodes, medians, medians.quantities[i]); },
      [&](std::vector<OddValueRow> rows) {
        std::ranges::move(rows, std::back_inserter(answer.odd_values));
        return true;
      },
      1);
  for (const auto& quantity : medians.quantities) answer.values += quantity.medians.size();
  std::ranges::stable_sort(answer.odd_values, [](const OddValueRow& a, const OddValueRow& b) {
    return std::abs(a.share) > std::abs(b.share);
  });
  TRY_ASSIGN(const auto known, facts.get());
  for (auto& odd : find_odd_facts(known, kFewestNodes)) {
    answer.odd_facts.push_back({.profile = std::move(odd.group),
                                .fact = std::move(odd.fact),
                                .value = std::move(odd.value),
                                .usual = std::move(odd.usual),
                                .nodes = std::move(odd.nodes)});
  }
  for (const auto& [profile, count] : profiles) {
    if (count < kFewestNodes) answer.too_few.push_back({.profile = profile, .nodes = count});
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
                                counted(group.nodes, "node"), group.profile, kFewestNodes));
  }
  if (answer.odd_values.empty() && answer.odd_facts.empty()) lines.emplace_back("none     is odd");
  return screen(lines, width);
}

}  // namespace muster::fleet

namespace muster::app {

int run_fleet_odd(const FleetCommand& command, const Caller& caller) {
  return fleet::answer_question(command, caller, fleet::ask_odd, fleet::odd_text);
}

}  // namespace muster::app
