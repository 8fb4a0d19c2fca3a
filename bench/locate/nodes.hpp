// SPDX-License-Identifier: Apache-2.0
// The nodes among which a slow one is searched for, and the switches that they hang from.
#pragma once

#include <string>
#include <vector>

#include "bench/locate/measurer.hpp"

namespace muster::bench::locate {

inline constexpr int kNoLeaf = -1;

struct Nodes {
  std::vector<std::string> names;
  int devices = 1;          // GPUs of a node, each with its HCA
  std::vector<int> leaves;  // each node's leaf switch, or kNoLeaf; empty where none is known
  std::vector<std::string> leaf_names;
  std::vector<int> pods;  // of each leaf switch: the switch above it; empty where none is known
  // Only nodes of one zone are measured with each other; empty where all are. The paths between
  // zones are known to be slow.
  std::vector<int> zones{};

  [[nodiscard]] std::size_t count() const { return names.size(); }

  [[nodiscard]] int leaf(Node node) const { return leaves.empty() ? kNoLeaf : leaves[node]; }

  [[nodiscard]] int pod(Node node) const {
    return pods.empty() || leaf(node) == kNoLeaf ? kNoLeaf
                                                 : pods[static_cast<std::size_t>(leaf(node))];
  }

  [[nodiscard]] int zone(Node node) const { return zones.empty() ? 0 : zones[node]; }

  [[nodiscard]] bool share_leaf(Node a, Node b) const {
    return leaf(a) != kNoLeaf && leaf(a) == leaf(b);
  }
};

}  // namespace muster::bench::locate
