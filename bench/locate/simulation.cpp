// SPDX-License-Identifier: Apache-2.0
#include "bench/locate/simulation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "lib/base/units.hpp"

namespace muster::bench::locate {

Nodes nodes_of(const SimCluster& cluster, bool with_topology) {
  Nodes nodes{.names = {}, .devices = cluster.gpus, .leaves = {}, .leaf_names = {}, .pods = {}};
  std::vector<int> domains;
  for (int i = 0; i < cluster.nodes; ++i) {
    nodes.names.push_back(sim_node_name(static_cast<std::size_t>(i)));
    domains.push_back(cluster.nodes_per_domain > 1 ? i / cluster.nodes_per_domain : kNoDomain);
    if (!with_topology) continue;
    const int leaf = i / cluster.nodes_per_leaf;
    nodes.leaves.push_back(leaf);
    if (static_cast<std::size_t>(leaf) < nodes.leaf_names.size()) continue;
    nodes.leaf_names.push_back(fmt::format("leaf{}", leaf));
    nodes.pods.push_back(leaf / cluster.leaves_per_pod);
  }
  set_domains(nodes, std::move(domains));
  return nodes;
}

Simulation::Simulation(const SimCluster& cluster, std::vector<std::size_t> part)
    : model_(cluster), part_(std::move(part)), random_(cluster.seed) {}

double Simulation::rate_of(const NodeGroup& group, bool crowded) const {
  SimGroup ranks{.nodes = group.nodes};
  if (!part_.empty()) {
    for (auto& node : ranks.nodes) node = part_[node];
  }
  if (group.device != kAllDevices) ranks.gpus = {group.device};
  if (model_.hang_of(ranks)) return 0;
  // NCCL reorders the ring for each new communicator, so any two nodes may be neighbours.
  return model_.bandwidth(ranks, Collective::all_reduce, {.crowded = crowded, .every_pair = true}) /
         kGiga;
}

// The Box-Muller method gives the same numbers with every standard library.
double Simulation::normal() {
  if (std::exchange(has_spare_, false)) return spare_;
  constexpr double kUnit = 1.0 / 9007199254740992.0;  // 2^-53
  const auto uniform = [&] { return (static_cast<double>(random_() >> 11U) + 0.5) * kUnit; };
  const double radius = std::sqrt(-2 * std::log(uniform()));
  const double angle = 2 * std::numbers::pi * uniform();
  spare_ = radius * std::sin(angle);
  has_spare_ = true;
  return radius * std::cos(angle);
}

double Simulation::deviate(Percent deviation) { return 1 + deviation.value / kPercent * normal(); }

Result<std::vector<GroupRates>> Simulation::measure(const std::vector<NodeGroup>& groups,
                                                    int repeats) {
  constexpr double kMin = 0.05;
  const auto& cluster = model_.cluster();
  level_ *= deviate(cluster.drift);
  std::vector<bool> works(static_cast<std::size_t>(cluster.nodes));
  for (const auto& group : groups) {
    for (const auto node : group.nodes) works[node] = true;
  }
  const bool crowded = 2 * std::ranges::count(works, true) > cluster.nodes;
  std::vector<GroupRates> rates(groups.size());
  for (std::size_t i = 0; i < groups.size(); ++i) {
    double rate = level_ * rate_of(groups[i], crowded);
    rates[i].finished = rate > 0;
    if (rate <= 0) continue;
    if (cluster.run_noise.value > 0) rate *= std::max(kMin, deviate(cluster.run_noise));
    for (int k = 0; k < repeats; ++k) {
      rates[i].gbps.push_back(rate * std::max(kMin, deviate(cluster.noise)));
    }
  }
  return rates;
}

}  // namespace muster::bench::locate
