// SPDX-License-Identifier: Apache-2.0
#include "bench/locate/schedule.hpp"

#include <algorithm>
#include <map>

namespace muster::bench::locate {

std::vector<Pair> pairs_across(const Nodes& nodes) {
  // Half of the list sorted by leaf switch apart, two nodes share one only if it has more than half
  // of all nodes.
  std::map<int, std::vector<Node>> zones;
  for (Node node = 0; node < nodes.count(); ++node) zones[nodes.zone(node)].push_back(node);
  std::vector<Pair> pairs;
  pairs.reserve(nodes.count() / 2);
  for (auto& [zone, order] : zones) {
    std::ranges::stable_sort(order, {}, [&](Node node) { return nodes.leaf(node); });
    const auto half = order.size() / 2;
    for (std::size_t i = 0; i < half; ++i) pairs.emplace_back(order[i], order[i + half]);
  }
  return pairs;
}

std::size_t tournament_rounds(std::size_t nodes) { return nodes < 2 ? 0 : nodes - 1 + nodes % 2; }

std::vector<Pair> tournament_round(std::size_t nodes, std::size_t round) {
  const auto players = nodes + nodes % 2;  // the partner of the last one of an odd number rests
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
    return nodes.zone(node) == nodes.zone(other) && std::ranges::find(met, other) == met.end();
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
