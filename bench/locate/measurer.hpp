// SPDX-License-Identifier: Apache-2.0
// What a search for the slow node asks of the cluster: the bandwidth of several groups of nodes at
// once. A job of real ranks and a model of a cluster both answer it.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "lib/base/result.hpp"

namespace muster::bench::locate {

using Node = std::size_t;  // its index in the list of nodes

inline constexpr int kAllDevices = -1;
inline constexpr int kNoLeaf = -1;

// The nodes among which a slow one is searched for, and the switches that they hang from.
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

// Nodes that run one all-reduce among themselves; of a single node, its own GPUs do.
struct Group {
  std::vector<Node> nodes;
  // With this index alone each node takes part: one GPU and its HCA.
  int device = kAllDevices;
  bool without_nvlink = false;  // even inside a node the data go through the HCAs

  bool operator==(const Group&) const = default;
};

struct Answer {
  std::vector<double> gbps;  // bus bandwidth of each repeat
  bool finished = true;      // within its deadline; else there are no numbers

  bool operator==(const Answer&) const = default;
};

class Measurer {
 public:
  Measurer() = default;
  Measurer(const Measurer&) = delete;
  Measurer(Measurer&&) = delete;
  Measurer& operator=(const Measurer&) = delete;
  Measurer& operator=(Measurer&&) = delete;
  virtual ~Measurer() = default;

  // Runs all groups at once, each so many times: one answer for each group, in their order. No two
  // groups share a device. An error ends the search; a group that does not finish is no error.
  [[nodiscard]] virtual Result<std::vector<Answer>> measure(const std::vector<Group>& groups,
                                                            int repeats) = 0;

  // Why a node takes part no longer: a sentence; empty where it does.
  [[nodiscard]] virtual std::string loss_of(Node /*node*/) const { return {}; }
};

}  // namespace muster::bench::locate
