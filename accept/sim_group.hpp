// SPDX-License-Identifier: Apache-2.0
// The answers of groups of nodes in a simulated fleet.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "accept/sim_words.hpp"
#include "bench/model/cluster_model.hpp"
#include "lib/accept/step.hpp"

namespace muster::accept::sim {

class SimGroups {
 public:
  SimGroups(const Order& order, const FleetWords& words)
      : order_(&order), words_(&words), model_(words.cluster) {}

  // `before` is how many times groups have answered in this stage so far.
  [[nodiscard]] StepAnswer answer(const std::vector<std::size_t>& nodes, Stage stage,
                                  std::int64_t before, std::int64_t at, double seconds) const;

 private:
  [[nodiscard]] Report search(const std::vector<std::size_t>& nodes, std::uint64_t seed) const;
  [[nodiscard]] std::vector<Finding> wrong_data(const std::vector<std::size_t>& nodes) const;
  [[nodiscard]] Report all_reduce(const std::vector<std::size_t>& nodes, std::uint64_t seed) const;

  const Order* order_;
  const FleetWords* words_;
  bench::ClusterModel model_;
};

}  // namespace muster::accept::sim
