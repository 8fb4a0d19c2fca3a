// SPDX-License-Identifier: Apache-2.0
#include "bench/model/cluster_model.hpp"

#include <algorithm>
#include <bit>
#include <numeric>
#include <utility>

#include "bench/collectives/definition.hpp"
#include "lib/base/mixing.hpp"
#include "lib/base/units.hpp"

namespace muster::bench {
namespace {

using Kind = SimFault::Kind;

constexpr double kBitsPerByte = 8;
constexpr double kPerLevel = 0.995;  // what a path over one more level of switches reaches

void lower(double& rate, double factor) { rate = std::min(rate, factor); }

// The slowest of these GPUs, for which the others wait.
double slowest(const std::vector<double>& of_gpus, const std::vector<int>& gpus) {
  if (of_gpus.empty()) return 1;
  if (gpus.empty()) return *std::ranges::min_element(of_gpus);
  double least = 1;
  for (const int gpu : gpus) lower(least, of_gpus[static_cast<std::size_t>(gpu)]);
  return least;
}

bool has(const SimGroup& group, std::uint64_t node) {
  return std::ranges::find(group.nodes, node) != group.nodes.end();
}

// Next to each other in the ring of nodes.
bool are_neighbours(const SimGroup& group, std::uint64_t a, std::uint64_t b) {
  const auto place = [&](std::uint64_t node) {
    return std::ranges::find(group.nodes, node) - group.nodes.begin();
  };
  const auto apart = std::abs(place(a) - place(b));
  return apart == 1 || apart + 1 == static_cast<std::ptrdiff_t>(group.nodes.size());
}

double steps(std::size_t parts) { return static_cast<double>(std::bit_width(parts - 1U)); }

// The sum of twelve uniform numbers is close to normal, with a standard deviation of 1.
double normal_of(std::uint64_t counter) {
  constexpr std::uint64_t kTwelve = 12;
  double normal = -6;
  for (std::uint64_t i = 0; i < kTwelve; ++i) normal += uniform_at(mixed(counter * kTwelve + i));
  return normal;
}

// Separates the random numbers of runs from those of iterations.
constexpr std::uint64_t kRunSeed = 0x72756e73;

double factor_of(Percent deviation, double normal) {
  constexpr double kMin = 0.05;
  return std::max(kMin, 1 + deviation.value / kPercent * normal);
}

}  // namespace

SimGroup whole(const SimCluster& cluster) {
  SimGroup group;
  group.nodes.resize(static_cast<std::size_t>(cluster.nodes));
  std::iota(group.nodes.begin(), group.nodes.end(), 0U);
  return group;
}

Result<SimGroup> group_of(const SimCluster& cluster, const std::vector<int>& ranks) {
  SimGroup group;
  for (const int rank : ranks) {
    const auto node = static_cast<std::size_t>(rank / cluster.gpus);
    const int gpu = rank % cluster.gpus;
    if (!has(group, node)) group.nodes.push_back(node);
    if (std::ranges::find(group.gpus, gpu) == group.gpus.end()) group.gpus.push_back(gpu);
  }
  if (ranks.empty() || group.nodes.size() * group.gpus.size() != ranks.size()) {
    return make_error(
        "--sim: the ranks of a part are neither whole nodes, a part of one node, nor the same GPUs "
        "of several nodes");
  }
  return group;
}

ClusterModel::ClusterModel(SimCluster cluster)
    : cluster_(std::move(cluster)), nodes_(static_cast<std::size_t>(cluster_.nodes)) {
  leaves_.assign(leaf(nodes_.size() - 1) + 1, 1);
  crowded_leaves_ = leaves_;
  for (const auto& fault : cluster_.faults) apply(fault);
}

std::size_t ClusterModel::leaf(std::size_t node) const {
  return node / static_cast<std::size_t>(cluster_.nodes_per_leaf);
}

void ClusterModel::slow_gpus(std::size_t node, const SimFault& fault, int first, int last,
                             bool links) {
  auto& state = nodes_[node];
  const auto lower_all = [&](std::vector<double>& factors) {
    factors.resize(static_cast<std::size_t>(cluster_.gpus), 1);
    for (int gpu = first; gpu <= last; ++gpu) {
      lower(factors[static_cast<std::size_t>(gpu)], fault.factor);
    }
  };
  lower_all(state.network);
  if (links) lower_all(state.links);
}

void ClusterModel::apply(const SimFault& fault) {
  // The GPUs that an HCA serves.
  const auto first_gpu = [&](std::uint64_t hca) {
    return static_cast<int>(hca) * cluster_.gpus / std::max(1, cluster_.hcas);
  };
  const auto last_gpu = [&](std::uint64_t hca) {
    return std::max(first_gpu(hca), first_gpu(hca + 1) - 1);
  };
  switch (fault.kind) {
    case Kind::slow_node:
      return slow_gpus(fault.first, fault, 0, cluster_.gpus - 1, true);
    case Kind::slow_gpu: {
      const int gpu = static_cast<int>(fault.second);
      return slow_gpus(fault.first, fault, gpu, gpu, true);
    }
    case Kind::slow_hca:
      return slow_gpus(fault.first, fault, first_gpu(fault.second), last_gpu(fault.second), false);
    case Kind::slow_rail:
      for (std::size_t node = 0; node < nodes_.size(); ++node) {
        slow_gpus(node, fault, first_gpu(fault.first), last_gpu(fault.first), false);
      }
      return;
    case Kind::slow_large:
      nodes_[fault.first].large = fault.factor;
      nodes_[fault.first].enough = fault.second;
      return;
    case Kind::slow_leaf:
      return lower(leaves_[fault.first], fault.factor);
    case Kind::congestion:
      return lower(crowded_leaves_[fault.first], fault.factor);
    case Kind::slow_level:
      return lower(fault.first == 1 ? first_level_ : second_level_, fault.factor);
    case Kind::slow_link:
      return slow_links_.push_back(fault);
    case Kind::hang:
    case Kind::hang_node:
    case Kind::hang_link:
      return hangs_.push_back(fault);
    case Kind::tcp_fallback:
    case Kind::ib_fallback:
    case Kind::wrong:
      return;
  }
}

// The share of the rate that the switches between the nodes let through.
double ClusterModel::path_factor(const SimGroup& group, bool crowded) const {
  const auto [low, high] = std::ranges::minmax(group.nodes);
  if (leaf(low) == leaf(high)) return 1;
  const auto pod = [&](std::size_t node) {
    return leaf(node) / static_cast<std::size_t>(cluster_.leaves_per_pod);
  };
  double factor = kPerLevel * first_level_;
  if (pod(low) != pod(high)) {
    factor *= kPerLevel;
    lower(factor, second_level_);
  }
  double worst = 1;
  for (const auto node : group.nodes) {
    lower(worst, leaves_[leaf(node)]);
    if (crowded) lower(worst, crowded_leaves_[leaf(node)]);
  }
  return factor * worst;
}

double ClusterModel::network_factor(const SimGroup& group, const SimTraffic& traffic) const {
  double factor = 1;
  for (const auto node : group.nodes) {
    const auto& state = nodes_[node];
    lower(factor, slowest(state.network, group.gpus));
    if (group.nodes.size() >= state.enough) lower(factor, state.large);
  }
  double link = 1;
  for (const auto& fault : slow_links_) {
    if (!has(group, fault.first) || !has(group, fault.second)) continue;
    if (traffic.every_pair || are_neighbours(group, fault.first, fault.second)) {
      lower(link, fault.factor);
    }
  }
  return factor * link * path_factor(group, traffic.crowded);
}

bool ClusterModel::uses_nvls(const SimGroup& group, Collective collective) const {
  return cluster_.nvls_efficiency > 0 && group.nodes.size() == 1 &&
         collective == Collective::all_reduce;
}

double ClusterModel::bandwidth(const SimGroup& group, Collective collective,
                               const SimTraffic& traffic) const {
  double links = 1;
  for (const auto node : group.nodes) lower(links, slowest(nodes_[node].links, group.gpus));
  const double share =
      uses_nvls(group, collective) ? cluster_.nvls_efficiency : cluster_.link_efficiency;
  const double inside = cluster_.link_rate.value * share * links;
  const auto [low, high] = std::ranges::minmax(group.nodes);
  if (low == high || use_nvlink(cluster_, low, high)) return inside;
  const auto& definition = definition_of(collective);
  const bool tcp = uses_tcp(cluster_);
  const double gpus = group.gpus.empty() ? cluster_.gpus : static_cast<double>(group.gpus.size());
  const double hca =
      tcp ? cluster_.tcp_rate.value : cluster_.hca_rate.value / kBitsPerByte * cluster_.efficiency;
  const double node = hca * (tcp ? 1 : cluster_.hcas) * gpus / cluster_.gpus;
  auto how = traffic;
  how.every_pair = how.every_pair || definition.sim.every_pair;
  const double factor = network_factor(group, how);
  const SimRates rates{.network = node * factor,
                       .hca = hca * factor,
                       .nodes = static_cast<double>(group.nodes.size()),
                       .gpus = gpus,
                       .tree = cluster_.tree};
  return std::min(inside, (rates.*definition.sim.bandwidth)());
}

double ClusterModel::seconds(const SimGroup& group, const Operation& operation) const {
  constexpr double kInside = 0.25;
  constexpr double kTcp = 4;
  const int ranks = ranks_of(group);
  // Small messages take NCCL's trees: a step for each doubling.
  const double between = cluster_.latency.value * (uses_tcp(cluster_) ? kTcp : 1);
  const double inside = cluster_.latency.value * kInside;
  const auto gpus = static_cast<std::size_t>(ranks) / group.nodes.size();
  const double one_way = std::max(1.0, steps(gpus)) * inside + steps(group.nodes.size()) * between;
  const double latency = definition_of(operation.collective).sim.passes * one_way;
  if (ranks < 2) return latency;
  const auto bytes = static_cast<double>(shape_of(operation, 0, ranks).bytes);
  return latency + messages_of(operation) * bytes * bus_factor(operation.collective, ranks) /
                       bandwidth(group, operation.collective, {});
}

std::optional<SimHang> ClusterModel::hang_of(const SimGroup& group) const {
  for (const auto& fault : hangs_) {
    if (fault.kind == Kind::hang) {
      if (!rank_in(group, fault.first)) continue;
      return SimHang{.rank = static_cast<int>(fault.first), .operation = fault.second};
    }
    const bool both = fault.kind == Kind::hang_node || has(group, fault.second);
    if (!both || !has(group, fault.first)) continue;
    const int gpu = group.gpus.empty() ? 0 : group.gpus.front();
    return SimHang{.rank = static_cast<int>(fault.first) * cluster_.gpus + gpu,
                   .of_link = fault.kind == Kind::hang_link};
  }
  return std::nullopt;
}

int ClusterModel::ranks_of(const SimGroup& group) const {
  const auto gpus =
      group.gpus.empty() ? static_cast<std::size_t>(cluster_.gpus) : group.gpus.size();
  return static_cast<int>(group.nodes.size() * gpus);
}

int ClusterModel::global_rank(const SimGroup& group, int rank) const {
  const int gpus = group.gpus.empty() ? cluster_.gpus : static_cast<int>(group.gpus.size());
  const int gpu =
      group.gpus.empty() ? rank % gpus : group.gpus[static_cast<std::size_t>(rank % gpus)];
  return static_cast<int>(group.nodes[static_cast<std::size_t>(rank / gpus)]) * cluster_.gpus + gpu;
}

std::optional<int> ClusterModel::rank_in(const SimGroup& group, std::uint64_t global) const {
  const auto gpus = static_cast<std::uint64_t>(cluster_.gpus);
  const auto node = std::ranges::find(group.nodes, global / gpus);
  if (node == group.nodes.end()) return std::nullopt;
  const int own = static_cast<int>(global % gpus);
  const auto place = static_cast<int>(node - group.nodes.begin());
  if (group.gpus.empty()) return place * cluster_.gpus + own;
  const auto gpu = std::ranges::find(group.gpus, own);
  if (gpu == group.gpus.end()) return std::nullopt;
  return place * static_cast<int>(group.gpus.size()) + static_cast<int>(gpu - group.gpus.begin());
}

double run_factor(const SimCluster& cluster, std::uint64_t run) {
  const auto seed = mixed(cluster.seed ^ kRunSeed);
  double level = 1;
  for (std::uint64_t i = 1; i <= run && cluster.drift.value > 0; ++i) {
    level *= factor_of(cluster.drift, normal_of(~seed ^ mixed(i)));
  }
  return 1 / (level * factor_of(cluster.run_noise, normal_of(seed ^ mixed(run))));
}

double noise_factor(const SimCluster& cluster, std::uint64_t iteration) {
  return factor_of(cluster.noise, normal_of(mixed(cluster.seed) ^ mixed(iteration)));
}

}  // namespace muster::bench
