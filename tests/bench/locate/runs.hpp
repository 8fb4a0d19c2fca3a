// SPDX-License-Identifier: Apache-2.0
// Searches on the model, and how they are checked: who was named, and whether it was right.
#pragma once

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "bench/locate/locate.hpp"
#include "bench/locate/model.hpp"

namespace muster::bench::locate {

// A healthy pair reaches 186 GB/s.
inline Plan with_limit(Strategy strategy = Strategy::automatic) {
  Plan plan{.strategy = strategy};
  plan.rule.floor_gbps = 170;
  return plan;
}

inline Search search_on(const ModelCluster& cluster, bool with_topology = true,
                        const Plan& plan = {}) {
  Model model(cluster);
  auto search = locate(nodes_of(cluster, with_topology), model, plan);
  return search ? *std::move(search) : Search{};
}

inline std::vector<const Culprit*> culprits_of(const Search& search, Culprit::Kind kind) {
  std::vector<const Culprit*> found;
  for (const auto& culprit : search.culprits) {
    if (culprit.kind == kind) found.push_back(&culprit);
  }
  return found;
}

inline std::set<Node> accused(const Search& search) {
  std::set<Node> nodes;
  for (const auto* culprit : culprits_of(search, Culprit::Kind::node)) {
    nodes.insert(culprit->nodes.begin(), culprit->nodes.end());
  }
  return nodes;
}

// Those nodes that have a fault of their own.
inline std::set<Node> guilty(const ModelCluster& cluster) {
  std::set<Node> nodes;
  for (const auto& fault : cluster.faults) {
    const bool own =
        fault.kind == ModelFault::Kind::slow_node || fault.kind == ModelFault::Kind::slow_hca ||
        fault.kind == ModelFault::Kind::slow_gpu || fault.kind == ModelFault::Kind::slow_large ||
        fault.kind == ModelFault::Kind::hang;
    if (own) nodes.insert(fault.first);
  }
  return nodes;
}

// So many different nodes with a fault of this kind.
inline ModelCluster with_faults(ModelCluster cluster, ModelFault::Kind kind, std::size_t count,
                                double factor) {
  std::mt19937_64 random(cluster.seed * 7919);
  std::set<Node> chosen;
  while (chosen.size() < count) chosen.insert(random() % cluster.nodes);
  for (const auto node : chosen) {
    const bool two = kind == ModelFault::Kind::slow_link || kind == ModelFault::Kind::hang_link;
    const auto count_of_second =
        two ? cluster.nodes - 1 : static_cast<std::size_t>(cluster.devices);
    const auto second = random() % count_of_second;
    cluster.faults.push_back({.kind = kind,
                              .first = node,
                              .second = two ? (node + 1 + second) % cluster.nodes : second,
                              .factor = factor});
  }
  return cluster;
}

}  // namespace muster::bench::locate
