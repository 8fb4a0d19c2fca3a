// SPDX-License-Identifier: Apache-2.0
#include "lib/fleet/odd.hpp"

#include <algorithm>
#include <utility>

namespace muster::fleet {

OddValues find_odd_values(const std::vector<double>& values, Side worse, double share) {
  const OutlierRule rule{.share = share, .fewest = 8, .side = worse};
  if (values.size() < rule.fewest) return {.peers = {.count = values.size()}, .too_few = true};
  OddValues odd{.peers = one_sided_spread_of(values, worse)};
  odd.limit = outlier_limit(odd.peers, rule);
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (is_outlier(values[i], odd.peers, rule)) odd.places.push_back(i);
  }
  std::ranges::stable_sort(odd.places, [&](std::size_t a, std::size_t b) {
    return worse == Side::below ? values[a] < values[b] : values[a] > values[b];
  });
  return odd;
}

std::vector<OddFact> find_odd_facts(const std::vector<NodeFacts>& nodes, std::size_t fewest) {
  using Key = std::pair<std::string, std::string>;
  std::map<Key, std::map<std::string, std::vector<std::string>>> by_fact;
  for (const auto& node : nodes) {
    for (const auto& [fact, value] : node.facts) {
      by_fact[{node.group, fact}][value].push_back(node.node);
    }
  }
  std::vector<OddFact> odd;
  for (const auto& [key, values] : by_fact) {
    std::size_t all = 0;
    for (const auto& [value, names] : values) all += names.size();
    const auto most =
        std::ranges::max_element(values, {}, [](const auto& each) { return each.second.size(); });
    if (all < fewest || most->second.size() * 2 <= all) continue;
    for (const auto& [value, names] : values) {
      if (value != most->first) odd.push_back({key.first, key.second, most->first, value, names});
    }
  }
  std::ranges::stable_sort(odd, {}, [](const OddFact& each) { return each.nodes.size(); });
  return odd;
}

}  // namespace muster::fleet
