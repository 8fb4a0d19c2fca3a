// SPDX-License-Identifier: Apache-2.0
// The interface between a search and a cluster: measures several groups of nodes at once.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/base/result.hpp"

namespace muster::bench::locate {

using Node = std::size_t;  // index in the list of nodes
using Pair = std::pair<Node, Node>;

inline constexpr int kAllDevices = -1;
inline constexpr int kNoLeaf = -1;

// The nodes of a search, and the switches that they hang from.
struct Nodes {
  std::vector<std::string> names;
  int devices = 1;          // GPUs of a node, each with its HCA
  std::vector<int> leaves;  // leaf switch of each node, or kNoLeaf; empty if unknown
  std::vector<std::string> leaf_names;
  std::vector<int> pods;  // of each leaf switch, the switch above it; empty if unknown
  // Only nodes of one zone are measured together, since paths between zones are known to be slow.
  // Empty if there is only one.
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

// Sets the switches of `nodes` from Slurm's topology.conf ("SwitchName=leaf0 Nodes=gpu-[01-16]"),
// or from plain lines "leaf0 gpu-[01-16]". Ignores other nodes; a node that no line names has no
// leaf switch. An error names `file` and the line.
[[nodiscard]] Result<void> set_topology(Nodes& nodes, std::string_view text, std::string_view file);

// Nodes that run one all-reduce; a single node runs it among its own GPUs.
struct NodeGroup {
  std::vector<Node> nodes;
  int device = kAllDevices;  // the only GPU of each node that takes part, with its HCA

  bool operator==(const NodeGroup&) const = default;
};

struct GroupRates {
  std::vector<double> gbps;  // bus bandwidth of each repeat
  bool finished = true;      // within the deadline; otherwise there are no numbers

  bool operator==(const GroupRates&) const = default;
};

class Measurer {
 public:
  Measurer() = default;
  Measurer(const Measurer&) = delete;
  Measurer(Measurer&&) = delete;
  Measurer& operator=(const Measurer&) = delete;
  Measurer& operator=(Measurer&&) = delete;
  virtual ~Measurer() = default;

  // Runs all groups at once, `repeats` times, and returns the rates of each. No two groups share a
  // device. An error ends the search; a group that does not finish is not an error.
  [[nodiscard]] virtual Result<std::vector<GroupRates>> measure(
      const std::vector<NodeGroup>& groups, int repeats) = 0;

  // How the processes of a node ended, as a sentence; empty while they run.
  [[nodiscard]] virtual std::string loss_of(Node /*node*/) const { return {}; }
};

}  // namespace muster::bench::locate
