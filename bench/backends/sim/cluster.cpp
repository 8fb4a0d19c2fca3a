// SPDX-License-Identifier: Apache-2.0
// Rates and latencies. The ceilings are those that profiles are held to
// (tests/lib/profile/ceilings_test.cpp), at the efficiency that the cluster says.
#include "bench/backends/sim/cluster.hpp"

#include <algorithm>
#include <bit>

#include "bench/collectives/definition.hpp"
#include "lib/base/mixing.hpp"

namespace muster::bench {
namespace {

constexpr double kBitsPerByte = 8;

// Next to each other in the ring of nodes.
bool are_neighbours(const SimCluster& cluster, std::uint64_t a, std::uint64_t b) {
  const auto apart = a < b ? b - a : a - b;
  return apart == 1 || apart + 1 == static_cast<std::uint64_t>(cluster.nodes);
}

double slowest_link(const SimCluster& cluster) {
  double factor = 1;
  for (const auto& fault : cluster.faults) {
    if (fault.kind == SimFault::Kind::slow_gpu || fault.kind == SimFault::Kind::slow_node) {
      factor = std::min(factor, fault.factor);
    }
  }
  return factor;
}

double slowest_network(const SimCluster& cluster, Collective collective) {
  double factor = 1;
  for (const auto& fault : cluster.faults) {
    const bool on_node =
        fault.kind == SimFault::Kind::slow_hca || fault.kind == SimFault::Kind::slow_node;
    const bool on_edge = fault.kind == SimFault::Kind::slow_link &&
                         (definition_of(collective).sim.every_pair ||
                          are_neighbours(cluster, fault.first, fault.second));
    if (on_node || on_edge) factor = std::min(factor, fault.factor);
  }
  return factor;
}

// Of the slowest part: everybody waits for it.
SimRates rates_of(const SimCluster& cluster, Collective collective) {
  const bool tcp = uses_tcp(cluster);
  const double hcas = tcp ? 1 : cluster.hcas;
  const double rate =
      tcp ? cluster.tcp_rate.value : cluster.hca_rate.value / kBitsPerByte * cluster.efficiency;
  const double hca = rate * slowest_network(cluster, collective);
  return {.network = hcas * hca,
          .hca = hca,
          .nodes = static_cast<double>(cluster.nodes),
          .gpus = static_cast<double>(cluster.gpus),
          .tree = cluster.tree};
}

double steps(int parts) { return std::bit_width(static_cast<unsigned>(parts) - 1U); }

// Small messages take NCCL's trees: a step for each doubling, and back again after a reduction.
double latency_of(const SimCluster& cluster, Collective collective) {
  constexpr double kInside = 0.25;
  constexpr double kTcp = 4;
  const double between = cluster.latency.value * (uses_tcp(cluster) ? kTcp : 1);
  const double inside = cluster.latency.value * kInside;
  const double there = std::max(1.0, steps(cluster.gpus)) * inside + steps(cluster.nodes) * between;
  return definition_of(collective).sim.passes * there;
}

// From 0 to 1.
double share_of(std::uint64_t counter) {
  constexpr unsigned kMantissa = 53;
  constexpr unsigned kUnused = 64 - kMantissa;
  return static_cast<double>(mixed(counter) >> kUnused) /
         static_cast<double>(std::uint64_t{1} << kMantissa);
}

constexpr double kHundred = 100;

}  // namespace

int ranks_of(const SimCluster& cluster) { return cluster.nodes * cluster.gpus; }

bool uses_tcp(const SimCluster& cluster) {
  return cluster.hcas == 0 ||
         std::ranges::count(cluster.faults, SimFault::Kind::tcp_fallback, &SimFault::kind) > 0;
}

Result<SimCluster> part_of(const SimCluster& cluster, const std::vector<int>& ranks) {
  std::vector<std::uint64_t> nodes;
  std::vector<std::uint64_t> gpus;
  for (const int rank : ranks) {
    const auto node = static_cast<std::uint64_t>(rank / cluster.gpus);
    const auto gpu = static_cast<std::uint64_t>(rank % cluster.gpus);
    if (std::ranges::find(nodes, node) == nodes.end()) nodes.push_back(node);
    if (std::ranges::find(gpus, gpu) == gpus.end()) gpus.push_back(gpu);
  }
  if (nodes.empty() || nodes.size() * gpus.size() != ranks.size()) {
    return make_error(
        "the model can be split into whole nodes, equal parts of a node, or rails: the same GPUs "
        "of "
        "each node");
  }
  auto part = cluster;
  part.nodes = static_cast<int>(nodes.size());
  part.gpus = static_cast<int>(gpus.size());
  // Each GPU's share of the HCAs, in their order.
  const auto gpu_of_hca = [&](std::uint64_t hca) {
    return hca * static_cast<std::uint64_t>(cluster.gpus) /
           static_cast<std::uint64_t>(std::max(1, cluster.hcas));
  };
  // To its place among them; false where it is none of them.
  const auto move = [](std::uint64_t& number, const auto& all) {
    const auto at = std::ranges::find(all, number);
    number = static_cast<std::uint64_t>(at - all.begin());
    return at != all.end();
  };
  part.hcas = 0;
  for (int hca = 0; hca < cluster.hcas; ++hca) {
    auto gpu = gpu_of_hca(static_cast<std::uint64_t>(hca));
    if (move(gpu, gpus)) ++part.hcas;
  }
  const std::vector<std::uint64_t> numbers(ranks.begin(), ranks.end());
  part.faults.clear();
  for (auto fault : cluster.faults) {
    bool stays = true;
    switch (fault.kind) {
      case SimFault::Kind::slow_hca:
        fault.second = gpu_of_hca(fault.second);
        [[fallthrough]];
      case SimFault::Kind::slow_gpu:
        stays = move(fault.first, nodes) && move(fault.second, gpus);
        break;
      case SimFault::Kind::slow_node:
        stays = move(fault.first, nodes);
        break;
      case SimFault::Kind::slow_link:
        stays = move(fault.first, nodes) && move(fault.second, nodes);
        break;
      case SimFault::Kind::tcp_fallback:
        break;
      case SimFault::Kind::wrong:
      case SimFault::Kind::hang:
        stays = move(fault.first, numbers);
        break;
    }
    if (stays) part.faults.push_back(fault);
  }
  return part;
}

double seconds_of(const SimCluster& cluster, const Operation& operation) {
  const int ranks = ranks_of(cluster);
  const double latency = latency_of(cluster, operation.collective);
  const double factor = bus_factor(operation.collective, ranks);
  if (ranks < 2) return latency;
  // Of one GPU inside its node, and of what crosses the network of a node.
  const double link = cluster.link_rate.value * cluster.link_efficiency * slowest_link(cluster);
  const auto rates = rates_of(cluster, operation.collective);
  const double bandwidth =
      cluster.nodes == 1 ? link
                         : std::min(link, definition_of(operation.collective).sim.bandwidth(rates));
  const auto bytes = static_cast<double>(shape_of(operation, 0, ranks).bytes);
  return latency + messages_of(operation) * bytes * factor / bandwidth;
}

double run_factor(const SimCluster& cluster, std::uint64_t run) {
  // The sum of twelve even numbers is close to normal, with a standard deviation of 1.
  constexpr std::uint64_t kTwelve = 12;
  constexpr std::uint64_t kOfRuns = 0x72756e73;  // others than those of iterations
  double normal = -6;
  for (std::uint64_t i = 0; i < kTwelve; ++i) {
    normal += share_of(mixed(cluster.seed ^ kOfRuns) ^ mixed(run * kTwelve + i));
  }
  return 1 / (1 + cluster.run_noise.value / kHundred * normal);
}

double noise_factor(const SimCluster& cluster, std::uint64_t iteration) {
  const double share = share_of(cluster.seed ^ mixed(iteration));
  return 1 + cluster.noise.value / kHundred * (2 * share - 1);
}

}  // namespace muster::bench
