// SPDX-License-Identifier: Apache-2.0
// A model of nodes on a fat tree that answers as a cluster would: for tests, for the table of
// docs/locate.md, and for --backend sim. What it does follows from its seed.
#pragma once

#include <array>
#include <cstdint>
#include <random>
#include <vector>

#include "bench/locate/measurer.hpp"

namespace muster::bench::locate {

struct ModelFault {
  enum class Kind {
    slow_node,   // first: node; all it does between and within nodes
    slow_hca,    // first: node, second: index; all HCAs wait for the slowest
    slow_gpu,    // first: node, second: index; inside the node, too
    slow_link,   // first, second: nodes; between these two
    slow_large,  // first: node, second: nodes; what it takes part in with at least so many
    slow_rail,   // first: index; this HCA of every node
    slow_leaf,   // first: leaf switch; what leaves it
    slow_level,  // first: 1 or 2; what crosses leaf switches, or the switches above them
    congestion,  // first: leaf switch; what leaves it while more than half of all nodes work
    hang,        // first: node; nothing that it takes part in ends
    hang_link,   // first, second: nodes; nothing ends that has both of them
  };
  Kind kind = Kind::slow_node;
  std::size_t first = 0;
  std::size_t second = 0;
  double factor = 1;  // of the healthy rate

  bool operator==(const ModelFault&) const = default;
};

struct ModelCluster {
  std::size_t nodes = 2;
  int devices = 8;
  std::size_t nodes_per_leaf = 16;
  std::size_t leaves_per_pod = 16;  // under one second level; beyond that a third is crossed
  double gbps = 187;                // between nodes, of all devices together
  double inside_gbps = 232;
  double per_level = 0.995;  // a path over one level more reaches this much of it
  double noise = 0.03;       // standard deviation of one repeat, as a share
  double drift = 0;          // of all rates, from round to round, likewise
  std::uint64_t seed = 1;
  std::vector<ModelFault> faults{};
};

// Names are sim0, sim1 …; the leaf switches leaf0 …, where `with_topology`.
[[nodiscard]] Nodes nodes_of(const ModelCluster& cluster, bool with_topology);

class Model final : public Measurer {
 public:
  explicit Model(ModelCluster cluster);

  [[nodiscard]] Result<std::vector<Answer>> measure(const std::vector<Group>& groups,
                                                    int repeats) override;

  // What the group reaches without noise; 0 where it does not finish.
  [[nodiscard]] double rate_of(const Group& group, bool crowded) const;

 private:
  struct NodeState {
    double inside = 1;   // of what its GPUs reach among themselves
    double network = 1;  // of all HCAs together
    double large = 1;    // of what it reaches in a group of `enough` nodes
    std::size_t enough = 0;
    bool hangs = false;
    std::vector<double> devices;  // of each alone; empty where all are healthy
  };

  [[nodiscard]] std::size_t leaf(Node node) const { return node / cluster_.nodes_per_leaf; }

  void slow_down(NodeState& node, const ModelFault& fault) const;
  void set(const ModelFault& fault);
  [[nodiscard]] double path(const Group& group, bool crowded) const;
  [[nodiscard]] bool hangs(const Group& group) const;
  [[nodiscard]] double normal();

  ModelCluster cluster_;
  std::vector<NodeState> nodes_;
  std::vector<double> leaves_, crowded_leaves_;
  std::array<double, 2> levels_{1, 1};
  std::vector<ModelFault> links_;
  std::mt19937_64 random_;
  double level_ = 1;
  double spare_ = 0;
  bool has_spare_ = false;
};

}  // namespace muster::bench::locate
