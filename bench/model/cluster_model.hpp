// SPDX-License-Identifier: Apache-2.0
// How fast a simulated cluster is. The ceilings are those that profiles are held to
// (tests/lib/profile/shipped_profiles_test.cpp), at the efficiency of the cluster.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "bench/collectives/operation.hpp"
#include "bench/model/cluster.hpp"

namespace muster::bench {

// The ranks of one communicator: the same GPUs of each of these nodes.
struct SimGroup {
  std::vector<std::size_t> nodes;
  std::vector<int> gpus{};  // empty for all
};

[[nodiscard]] SimGroup whole(const SimCluster& cluster);

// An error unless these ranks are whole nodes, a part of one node, or the same GPUs of several.
[[nodiscard]] Result<SimGroup> group_of(const SimCluster& cluster, const std::vector<int>& ranks);

struct SimTraffic {
  bool crowded = true;      // most nodes of the cluster work
  bool every_pair = false;  // every two nodes of the group talk to each other
};

// The rank that blocks a group, and from which operation on.
struct SimHang {
  int rank = 0;  // of the whole cluster
  std::uint64_t operation = 0;
  bool of_link = false;  // the rank starts the operation: only what it sends is lost
};

class ClusterModel {
 public:
  explicit ClusterModel(SimCluster cluster);

  [[nodiscard]] const SimCluster& cluster() const { return cluster_; }

  // The bus bandwidth of a large message in bytes per second, without noise.
  [[nodiscard]] double bandwidth(const SimGroup& group, Collective collective,
                                 const SimTraffic& traffic) const;

  // Whether the switches inside a node add for this group.
  [[nodiscard]] bool uses_nvls(const SimGroup& group, Collective collective) const;

  // How long an operation takes if the whole cluster works, without noise.
  [[nodiscard]] double seconds(const SimGroup& group, const Operation& operation) const;

  [[nodiscard]] std::optional<SimHang> hang_of(const SimGroup& group) const;

  [[nodiscard]] int ranks_of(const SimGroup& group) const;
  // The rank of the whole cluster that has this rank in the group, and the other way around.
  [[nodiscard]] int global_rank(const SimGroup& group, int rank) const;
  [[nodiscard]] std::optional<int> rank_in(const SimGroup& group, std::uint64_t global) const;

 private:
  // Factors of a node. Empty lists are all 1.
  struct NodeState {
    double large = 1;  // in a group of `enough` nodes
    std::size_t enough = 0;
    std::vector<double> network;  // of each GPU's traffic to other nodes
    std::vector<double> links;    // of each GPU's links inside the node
  };

  void apply(const SimFault& fault);
  void slow_gpus(std::size_t node, const SimFault& fault, int first, int last, bool links);
  [[nodiscard]] std::size_t leaf(std::size_t node) const;
  [[nodiscard]] double network_factor(const SimGroup& group, const SimTraffic& traffic) const;
  [[nodiscard]] double path_factor(const SimGroup& group, bool crowded) const;

  SimCluster cluster_;
  std::vector<NodeState> nodes_;
  std::vector<double> leaves_, crowded_leaves_;  // factors
  double first_level_ = 1, second_level_ = 1;
  std::vector<SimFault> slow_links_, hangs_;
};

// The factor by which the `run`-th set of connections makes operations take longer or shorter.
[[nodiscard]] double run_factor(const SimCluster& cluster, std::uint64_t run);
// The same for one iteration.
[[nodiscard]] double noise_factor(const SimCluster& cluster, std::uint64_t iteration);

}  // namespace muster::bench
