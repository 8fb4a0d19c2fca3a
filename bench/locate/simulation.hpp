// SPDX-License-Identifier: Apache-2.0
// A simulated fat-tree cluster for a search to measure: in tests, for the table in docs/locate.md,
// and for --backend sim.
#pragma once

#include <random>
#include <string>
#include <vector>

#include "bench/locate/rounds.hpp"
#include "bench/model/cluster_model.hpp"

namespace muster::bench::locate {

// The nodes of the cluster, and its leaf switches leaf0, leaf1, ... if `with_topology`.
[[nodiscard]] Nodes nodes_of(const SimCluster& cluster, bool with_topology);

class Simulation final : public Measurer {
 public:
  // `part`: the nodes of the cluster to search among, in the order of the search; empty for all.
  explicit Simulation(const SimCluster& cluster, std::vector<std::size_t> part = {});

  [[nodiscard]] Result<std::vector<GroupRates>> measure(const std::vector<NodeGroup>& groups,
                                                        int repeats) override;

  [[nodiscard]] Result<std::string> algorithm_among(const std::vector<Node>& /*nodes*/) override {
    return std::string(model_.cluster().tree ? "tree" : "ring");
  }

 private:
  [[nodiscard]] double rate_of(const NodeGroup& group, bool crowded) const;  // 0: it hangs
  [[nodiscard]] double deviate(Percent deviation);
  [[nodiscard]] double normal();

  ClusterModel model_;
  std::vector<std::size_t> part_;
  std::mt19937_64 random_;
  double level_ = 1;  // scales all rates, and drifts
  double spare_ = 0;
  bool has_spare_ = false;
};

}  // namespace muster::bench::locate
