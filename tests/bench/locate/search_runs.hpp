// SPDX-License-Identifier: Apache-2.0
// Searches on simulated clusters, and how their results are checked.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "bench/locate/findings.hpp"
#include "bench/locate/locate.hpp"
#include "bench/locate/simulation.hpp"

namespace muster::bench::locate {

inline constexpr double kLimit = 170;  // GB/s; a healthy pair reaches 187

inline constexpr Limits kLimits{kLimit, kLimit};

inline SimCluster cluster_of(std::string_view sim) {
  return parse_sim(sim).value_or(SimCluster{.nodes = 0});
}

inline SearchResult search_on(const SimCluster& cluster, bool with_topology = true,
                              const SearchOptions& options = {}) {
  Simulation simulation(cluster);
  auto result = locate(nodes_of(cluster, with_topology), simulation, options);
  return result ? *std::move(result) : SearchResult{};
}

inline std::vector<const Culprit*> culprits_of(const SearchResult& result, Culprit::Kind kind) {
  std::vector<const Culprit*> found;
  for (const auto& culprit : result.culprits) {
    if (culprit.kind == kind) found.push_back(&culprit);
  }
  return found;
}

inline std::set<Node> accused(const SearchResult& result) {
  std::set<Node> nodes;
  for (const auto* culprit : culprits_of(result, Culprit::Kind::node)) {
    nodes.insert(culprit->nodes.begin(), culprit->nodes.end());
  }
  return nodes;
}

// The nodes that have a fault of their own.
inline std::set<Node> guilty(const SimCluster& cluster) {
  using Kind = SimFault::Kind;
  std::set<Node> nodes;
  for (const auto& fault : cluster.faults) {
    const auto kind = fault.kind;
    const bool own = kind == Kind::slow_node || kind == Kind::slow_hca || kind == Kind::slow_gpu ||
                     kind == Kind::slow_large || kind == Kind::hang_node;
    if (own) nodes.insert(fault.first);
  }
  return nodes;
}

// `count` different nodes with a fault of this kind.
inline SimCluster with_faults(SimCluster cluster, SimFault::Kind kind, std::size_t count,
                              double factor) {
  const auto nodes = static_cast<std::size_t>(cluster.nodes);
  std::mt19937_64 random(cluster.seed * 7919);
  std::set<Node> chosen;
  while (chosen.size() < count) chosen.insert(random() % nodes);
  for (const auto node : chosen) {
    const bool two = kind == SimFault::Kind::slow_link || kind == SimFault::Kind::hang_link;
    const auto second = random() % (two ? nodes - 1 : static_cast<std::size_t>(cluster.gpus));
    cluster.faults.push_back({.kind = kind,
                              .first = node,
                              .second = two ? (node + 1 + second) % nodes : second,
                              .factor = factor});
  }
  return cluster;
}

// "node 7 HCA 3; link 4-36; leaf 2": the culprits in their order.
inline std::string text_of(const SearchResult& result) {
  using Kind = Culprit::Kind;
  std::vector<std::string> all;
  for (const auto& culprit : result.culprits) {
    const auto nodes = fmt::format("{}", fmt::join(culprit.nodes, "-"));
    const auto devices = fmt::format("{}", fmt::join(culprit.devices, ","));
    std::string text;
    switch (culprit.kind) {
      case Kind::node:
        text = fmt::format("node {}", nodes);
        if (culprit.part == SlowPart::hca) text += fmt::format(" HCA {}", devices);
        if (culprit.part == SlowPart::gpu) text += fmt::format(" GPU {}", devices);
        if (culprit.part == SlowPart::inside) text += " inside";
        if (culprit.part == SlowPart::network) text += " network";
        if (culprit.together > 2) text += fmt::format(" among {}", culprit.together);
        break;
      case Kind::link:
        text = fmt::format("link {}", nodes);
        break;
      case Kind::leaf:
        text = culprit.leaf == kNoLeaf ? fmt::format("leaf of {}", nodes)
                                       : fmt::format("leaf {}", culprit.leaf);
        break;
      case Kind::level:
        text = "level";
        break;
      case Kind::rail:
        text = fmt::format("rail {}", devices);
        break;
      case Kind::group:
        text = fmt::format("group {}", nodes);
        break;
      case Kind::congestion:
        text = "congestion";
        break;
      case Kind::everyone:
        text = "everyone";
        break;
      case Kind::not_enough_data:
        text = "undecided";
        break;
    }
    const bool hangs = culprit.hung && culprit.kind != Kind::not_enough_data;
    all.push_back(hangs ? text + " hangs" : text);
  }
  return fmt::format("{}", fmt::join(all, "; "));
}

}  // namespace muster::bench::locate
