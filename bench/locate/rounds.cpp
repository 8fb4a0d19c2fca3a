// SPDX-License-Identifier: Apache-2.0
#include "bench/locate/rounds.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "lib/statistics/statistics.hpp"

namespace muster::bench::locate {
namespace {

double noise_of_rates(const std::vector<GroupRates>& rates) {
  std::vector<std::vector<double>> repeats;
  for (const auto& each : rates) {
    if (each.finished) repeats.push_back(each.gbps);
  }
  return noise_of(repeats);
}

// `usual`: the least noise of one repeat.
Round round_of(std::vector<NodeGroup> groups, std::vector<GroupRates> rates, int repeats,
               double usual) {
  Round round{.groups = std::move(groups), .gbps = {}};
  round.noise =
      noise_of_median(std::max(usual, noise_of_rates(rates)), static_cast<std::size_t>(repeats));
  for (auto& [gbps, finished] : rates) {
    const bool measured = finished && !gbps.empty();
    round.gbps.push_back(measured ? std::optional(median_of(std::move(gbps))) : std::nullopt);
  }
  return round;
}

}  // namespace

std::vector<std::string> names_of(const std::vector<Node>& which, const Nodes& nodes) {
  std::vector<std::string> names;
  for (const auto node : which) names.push_back(nodes.names[node]);
  return names;
}

bool Nodes::are_comparable(const std::vector<Node>& group) const {
  return domains.empty() || std::ranges::any_of(group, [&](Node node) {
           return domains[node] != domains[group.front()];
         });
}

void set_domains(Nodes& nodes, std::vector<int> domains) {
  nodes.domains.clear();
  int next = kNoDomain;
  for (const int domain : domains) next = std::max(next, domain);
  for (auto& domain : domains) {
    if (domain == kNoDomain) domain = ++next;
  }
  const auto distinct = std::set<int>(domains.begin(), domains.end()).size();
  if (distinct > 1 && distinct < domains.size()) nodes.domains = std::move(domains);
}

std::vector<double> finished(const Round& round, std::size_t from) {
  std::vector<double> values;
  for (auto i = from; i < round.size(); ++i) {
    if (round.gbps[i]) values.push_back(*round.gbps[i]);
  }
  return values;
}

Scale scale_from(const Round& round, std::size_t from, const Scale& usual) {
  const double deviation = std::max(usual.deviation / usual.median, round.noise);
  return scale_around(finished(round, from), deviation, round.tolerance).value_or(usual);
}

// A group that did not finish is not repeated: it would take its deadline each time.
Result<void> Rounds::repeat(const std::vector<NodeGroup>& groups, int repeats,
                            std::vector<GroupRates>& rates) {
  std::vector<NodeGroup> left;
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    if (!rates[i].finished) continue;
    left.push_back(groups[i]);
    places.push_back(i);
  }
  TRY_ASSIGN(auto more, measurer_.measure(left, repeats));
  if (more.size() != left.size()) {
    return make_error("{} rates for {} groups", more.size(), left.size());
  }
  operations_ += left.size() * static_cast<std::uint64_t>(repeats);
  for (std::size_t i = 0; i < places.size(); ++i) {
    auto& [gbps, finished] = rates[places[i]];
    finished = more[i].finished;
    append(gbps, std::move(more[i].gbps));
  }
  return {};
}

double Rounds::usual_noise() const { return weight_ > 0 ? std::sqrt(squares_ / weight_) : 0; }

Result<Round> Rounds::measure(std::string_view title, std::vector<NodeGroup> groups,
                              std::optional<int> fixed) {
  ++count_;
  if (watch_) watch_(fmt::format("round {}: {}", count_, title), groups.size());
  std::vector<GroupRates> rates(groups.size());
  int repeats = fixed.value_or(kFirstRepeats);
  TRY(repeat(groups, repeats, rates));
  const double noise = noise_of_rates(rates);
  const auto weight = static_cast<double>(groups.size()) * repeats;
  squares_ += weight * noise * noise;
  weight_ += weight;
  const int needed = fixed.value_or(repeats_for(std::max(noise, usual_noise()), tolerance_));
  if (needed > repeats) {
    TRY(repeat(groups, needed - repeats, rates));
    repeats = needed;
  }
  auto round = round_of(std::move(groups), std::move(rates), repeats, usual_noise());
  round.tolerance = tolerance_;
  return round;
}

Result<std::optional<double>> Rounds::measure_one(std::string_view title,
                                                  const std::vector<Node>& nodes) {
  TRY_ASSIGN(const auto round, measure(title, {{.nodes = nodes}}));
  return round.gbps.front();
}

Result<Round> Rounds::measure_in_turns(std::string_view title, std::vector<NodeGroup> groups,
                                       std::size_t most_nodes) {
  Round all{.groups = {}, .gbps = {}, .tolerance = tolerance_};
  for (auto next = groups.begin(); next != groups.end();) {
    std::set<Node> working;
    auto end = next;
    for (; end != groups.end(); ++end) {
      working.insert(end->nodes.begin(), end->nodes.end());
      if (end != next && working.size() > most_nodes) break;
    }
    TRY_ASSIGN(auto turn, measure(title, {next, end}));
    append(all.groups, std::move(turn.groups));
    append(all.gbps, std::move(turn.gbps));
    all.noise = std::max(all.noise, turn.noise);
    next = end;
  }
  return all;
}

Result<std::optional<double>> Rounds::measure_together(const std::vector<Node>& nodes) {
  if (watch_) watch_("all together", 1);
  std::vector<GroupRates> rates(1);
  const int repeats = repeats_for(usual_noise(), kCloseTolerance);
  TRY(repeat({{.nodes = nodes}}, repeats, rates));
  return round_of({{.nodes = nodes}}, std::move(rates), repeats, 0).gbps.front();
}

std::vector<Pair> pairs_across(const Nodes& nodes) {
  // Pairs nodes that are half the list apart, sorted by NVLink domain and leaf switch: they share
  // one only if it has more than half of all nodes. For a larger domain the distance grows.
  std::map<int, std::vector<Node>> zones;
  for (Node node = 0; node < nodes.count(); ++node) zones[nodes.zone(node)].push_back(node);
  std::vector<Pair> pairs;
  pairs.reserve(nodes.count() / 2);
  for (auto& [zone, order] : zones) {
    const auto domain = [&](Node node) { return nodes.domains.empty() ? 0 : nodes.domains[node]; };
    std::ranges::stable_sort(order, {},
                             [&](Node node) { return std::pair(domain(node), nodes.leaf(node)); });
    const auto half = order.size() / 2;
    auto apart = half;
    std::map<int, std::size_t> sizes;
    for (const auto node : order) {
      if (!nodes.domains.empty()) apart = std::max(apart, ++sizes[domain(node)]);
    }
    for (std::size_t i = 0; i < half && i + apart < order.size(); ++i) {
      pairs.emplace_back(order[i], order[i + apart]);
    }
  }
  return pairs;
}

std::size_t tournament_rounds(std::size_t nodes) { return nodes < 2 ? 0 : nodes - 1 + nodes % 2; }

std::vector<Pair> tournament_round(std::size_t nodes, std::size_t round) {
  const auto players = nodes + nodes % 2;  // if the number is odd, one node sits out
  const auto others = players - 1;
  // Player 0 stays, the others move by one place in each round.
  const auto at = [&](std::size_t place) {
    return place == 0 ? 0 : 1 + (place - 1 + round) % others;
  };
  std::vector<Pair> pairs;
  pairs.reserve(players / 2);
  for (std::size_t i = 0; i < players / 2; ++i) {
    const auto a = at(i);
    const auto b = at(players - 1 - i);
    if (a < nodes && b < nodes) pairs.emplace_back(std::min(a, b), std::max(a, b));
  }
  return pairs;
}

std::vector<Node>::iterator partner_of(Node node, std::vector<Node>& partners,
                                       const std::vector<Node>& met, const Nodes& nodes) {
  const auto is_new = [&](Node other) {
    return nodes.may_meet(node, other) && std::ranges::find(met, other) == met.end();
  };
  const auto far = std::ranges::find_if(
      partners, [&](Node other) { return is_new(other) && !nodes.share_leaf(node, other); });
  return far != partners.end() ? far : std::ranges::find_if(partners, is_new);
}

std::vector<Pair> pair_with(const std::vector<Node>& seekers, std::vector<Node>& partners,
                            const Nodes& nodes, const std::vector<std::vector<Node>>& met) {
  std::vector<Pair> pairs;
  for (std::size_t i = 0; i < seekers.size(); ++i) {
    const auto known = met.empty() ? std::vector<Node>() : met[i];
    const auto partner = partner_of(seekers[i], partners, known, nodes);
    if (partner == partners.end()) continue;
    pairs.emplace_back(seekers[i], *partner);
    partners.erase(partner);
  }
  return pairs;
}

std::vector<Pair> take_controls(std::vector<Node>& proven, std::size_t most, const Nodes& nodes) {
  std::vector<Node> some;
  while (some.size() < most && some.size() + 2 <= proven.size()) {
    some.push_back(proven.back());
    proven.pop_back();
  }
  return pair_with(some, proven, nodes);
}

std::vector<NodeGroup> groups_of(const std::vector<Pair>& pairs) {
  std::vector<NodeGroup> groups;
  groups.reserve(pairs.size());
  for (const auto& [a, b] : pairs) groups.push_back({.nodes = {a, b}});
  return groups;
}

std::vector<NodeGroup> device_groups_of(const std::vector<Pair>& pairs, int devices) {
  std::vector<NodeGroup> groups;
  for (const auto& [a, b] : pairs) {
    for (int device = 0; device < devices; ++device) {
      groups.push_back({.nodes = {a, b}, .device = device});
    }
  }
  return groups;
}

}  // namespace muster::bench::locate
