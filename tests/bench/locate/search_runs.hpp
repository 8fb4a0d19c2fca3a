// SPDX-License-Identifier: Apache-2.0
// Searches on simulated clusters, and how their results are checked.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <array>
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

// The nodes that are faulty themselves.
inline std::set<Node> guilty(const SimCluster& cluster) {
  using Kind = SimFault::Kind;
  constexpr std::array kOwn{Kind::slow_node, Kind::slow_hca, Kind::slow_gpu, Kind::slow_large,
                            Kind::hang_node};
  std::set<Node> nodes;
  for (const auto& fault : cluster.faults) {
    if (std::ranges::count(kOwn, fault.kind) > 0) nodes.insert(fault.first);
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

// "node 7 HCA 3", "link 4-36", "leaf 2 hangs"
inline std::string text_of(const Culprit& culprit) {
  using Kind = Culprit::Kind;
  static constexpr std::array kKinds{"node",  "link",       "leaf",     "level",    "rail",
                                     "group", "congestion", "everyone", "undecided"};
  static constexpr std::array kParts{"", " HCA", " GPU", " inside", " network"};
  const auto kind = culprit.kind;
  const auto nodes = fmt::format(" {}", fmt::join(culprit.nodes, "-"));
  const auto devices = fmt::format(" {}", fmt::join(culprit.devices, ","));
  std::string text = kKinds.at(static_cast<std::size_t>(kind));
  if (kind == Kind::node || kind == Kind::link || kind == Kind::group) text += nodes;
  if (kind == Kind::rail) text += devices;
  if (kind == Kind::leaf) {
    text += culprit.leaf == kNoLeaf ? " of" + nodes : fmt::format(" {}", culprit.leaf);
  }
  text += kParts.at(static_cast<std::size_t>(culprit.part));
  if (culprit.part == SlowPart::hca || culprit.part == SlowPart::gpu) text += devices;
  if (kind == Kind::node && culprit.together > 2) {
    text += fmt::format(" among {}", culprit.together);
  }
  return culprit.hung && kind != Kind::not_enough_data ? text + " hangs" : text;
}

// The culprits in their order, joined by "; ".
inline std::string text_of(const SearchResult& result) {
  std::vector<std::string> all;
  for (const auto& culprit : result.culprits) all.push_back(text_of(culprit));
  return fmt::format("{}", fmt::join(all, "; "));
}

}  // namespace muster::bench::locate
