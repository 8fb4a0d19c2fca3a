// SPDX-License-Identifier: Apache-2.0
// The arithmetic of links, for single transfers and for NCCL's bus bandwidth.
#include "lib/profile/ceilings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string_view>
#include <utility>

#include "lib/profile/ib_speeds.hpp"
#include "lib/profile/limits/bench.hpp"
#include "lib/profile/limits/gpu.hpp"
#include "lib/profile/limits/host.hpp"
#include "lib/profile/limits/ib.hpp"
#include "lib/profile/limits/pci.hpp"

namespace muster {
namespace {

template <class Q>
struct Ceiling {
  Q value;
  std::string because;
  std::vector<std::string> from;
};

template <class Q>
using Maybe = std::optional<Ceiling<Q>>;

constexpr double kBitsPerByte = 8;

// Payload per transferred bit: 8b/10b up to 5 GT/s, 128b/130b up to 32 GT/s, then flits of 256
// bytes with 242 of payload.
double pcie_efficiency(Transfers speed) {
  if (speed.value <= 5e9) return 8.0 / 10;
  if (speed.value <= 32e9) return 128.0 / 130;
  return 242.0 / 256;
}

Maybe<BytesPerSecond> pcie(const Profile& p) {
  const auto& [speed, width] = p.pci->link.gpu;
  if (!speed || !width) return {};
  const double value = speed->value * *width / kBitsPerByte * pcie_efficiency(*speed);
  return {{{value},
           fmt::format("PCIe x{} at {}", *width, to_string(*speed)),
           {"pci.link.gpu.speed", "pci.link.gpu.width"}}};
}

Maybe<BytesPerSecond> nvlink(const Profile& p) {
  const auto& [links, speed] = p.gpu->nvlink_state;
  if (!links || !speed) return {};
  return {{{*links * speed->value},
           fmt::format("{} NVLinks of {}", *links, to_string(*speed)),
           {"gpu.nvlink_state.links", "gpu.nvlink_state.speed"}}};
}

// All HCAs of one node.
Maybe<BytesPerSecond> fabric(const Profile& p) {
  const auto& hcas = p.ib->present.count;
  const auto& rate = p.ib->rate.expected;
  if (!hcas || !rate) return {};
  return {{{*hcas * rate->value / kBitsPerByte},
           fmt::format("{} HCAs of {}", *hcas, to_string(*rate)),
           {"ib.present.count", "ib.rate.expected"}}};
}

int gpus(const Profile& p) { return std::max(1, p.gpu->present.count.value_or(1)); }

// Inside a node: a ring moves what one GPU's links carry. NVLS lets the switch add, so every byte
// crosses a link once; no stated algorithm may be NVLS.
Maybe<BytesPerSecond> node_all_reduce(const Profile& p, Limit<BenchAlgorithm> algorithm) {
  auto ceiling = nvlink(p);
  if (!ceiling || algorithm == BenchAlgorithm::ring) return ceiling;
  const double n = gpus(p);
  ceiling->value.value *= std::max(1.0, 2 * (n - 1) / n);
  ceiling->because = fmt::format("{}, NVLS over {} GPUs", ceiling->because, n);
  return ceiling;
}

// One node whose GPUs talk through their HCAs only: they share what the HCAs carry.
Maybe<BytesPerSecond> loopback_all_reduce(const Profile& p) {
  auto ceiling = fabric(p);
  if (!ceiling) return ceiling;
  ceiling->value.value /= gpus(p);
  ceiling->because = fmt::format("{}, shared by {} GPUs", ceiling->because, gpus(p));
  return ceiling;
}

// Over nodes: a ring crosses every node's HCAs with all data; hierarchical algorithms cross them
// with what is left after reducing inside the node; CollNet lets the network add. Where NVLinks
// join the nodes, they are as one.
Maybe<BytesPerSecond> job_all_reduce(const Profile& p, const BenchLimit<BytesPerSecond>& limit) {
  const int nodes = limit.nodes_at_least.value_or(0);
  if (limit.over == BenchOver::nvlink) return node_all_reduce(p, limit.algorithm);
  auto ceiling = fabric(p);
  if (!ceiling || nodes < 2 || limit.algorithm == BenchAlgorithm::ring) return ceiling;
  const double k = nodes;
  // Without GPUs the ranks are processes, at most one per core.
  const double g = expects_gpus(p) ? gpus(p) : std::max(1, p.host->cpu.cores.value_or(1));
  const double n = k * g;
  const bool in_network = limit.algorithm == BenchAlgorithm::collnet;
  ceiling->value.value *= in_network ? 2 * (n - 1) / n : (n - 1) / (g * (k - 1));
  ceiling->because = fmt::format("{}, {} over {} nodes of {} ranks", ceiling->because,
                                 in_network ? "reduced in the network" : "hierarchical", k, g);
  return ceiling;
}

// All-to-all: each rank sends to those of other nodes through its share of the node's HCAs.
Maybe<BytesPerSecond> job_alltoall(const Profile& p, int nodes) {
  auto ceiling = fabric(p);
  if (!ceiling || nodes < 2 || !expects_gpus(p)) return {};
  const double g = gpus(p);
  const double n = nodes * g;
  ceiling->value.value *= (n - 1) / (g * (n - g));
  ceiling->because =
      fmt::format("{}, shared by the {} ranks of each of {} nodes", ceiling->because, g, nodes);
  return ceiling;
}

// Without its speed a lane is one of the fastest there are, and a port has four of them at most.
BoundedLimit rate_of_port(const IbRateLimits& rate) {
  const auto named = static_cast<std::size_t>(rate.speed.value_or(IbLaneSpeed::xdr));
  const IbSpeed& speed = kIbSpeeds.at(named);
  const IbWidth width = rate.width.value_or(IbWidth::x4);
  const BitsPerSecond ceiling{lanes_of(width) * speed.lane_bps};
  return {.path = "ib.rate.expected",
          .limit = to_string(*rate.expected),
          .ceiling = to_string(ceiling),
          .because = fmt::format("{} {}", word_of(width), speed.name),
          .of_ceiling = rate.expected->value / ceiling.value,
          .from = {"ib.rate.width", "ib.rate.speed"}};
}

class Bounds {
 public:
  template <class Q>
  void add(std::string_view name, const BenchLimit<Q>& limit, const Maybe<Q>& ceiling) {
    if (!ceiling) return;
    const std::array<std::pair<std::string_view, Limit<Q>>, 4> limits{
        {{"expected", limit.expected},
         {"promised", limit.promised},
         {"warn_below", limit.warn_below},
         {"fail_below", limit.fail_below}}};
    for (const auto& [key, value] : limits) {
      if (!value) continue;
      found_.push_back({.path = fmt::format("bench.{}.{}", name, key),
                        .limit = to_string(*value),
                        .ceiling = to_string(ceiling->value),
                        .because = ceiling->because,
                        .of_ceiling = value->value / ceiling->value.value,
                        .from = ceiling->from});
    }
  }

  void add(BoundedLimit limit) { found_.push_back(std::move(limit)); }

  [[nodiscard]] std::vector<BoundedLimit> take() { return std::move(found_); }

 private:
  std::vector<BoundedLimit> found_;
};

}  // namespace

std::vector<BoundedLimit> bounded_limits(const Profile& profile) {
  const BenchLimits& bench = *profile.bench;
  Bounds bounds;
  const bool through_pcie = bench.host_copy.memory != BenchMemory::host;
  if (through_pcie) bounds.add("host_copy", bench.host_copy, pcie(profile));
  bounds.add("peer_copy", bench.peer_copy, nvlink(profile));
  bounds.add("node_all_reduce", bench.node_all_reduce,
             node_all_reduce(profile, bench.node_all_reduce.algorithm));
  bounds.add("loopback_all_reduce", bench.loopback_all_reduce, loopback_all_reduce(profile));
  if (const auto& rate = profile.ib->rate.expected) {
    bounds.add(rate_of_port(profile.ib->rate));
    bounds.add("hca_write", bench.hca_write, {{*rate, "the rate of an HCA", {"ib.rate.expected"}}});
  }
  const auto add_list = [&](std::string_view name, const auto& list, const auto& ceiling_of) {
    for (std::size_t i = 0; i < list.size(); ++i) {
      bounds.add(fmt::format("{}.{}", name, i), list[i], ceiling_of(list[i]));
    }
  };
  const auto hierarchical = [&](const auto& limit) { return job_all_reduce(profile, limit); };
  add_list("job_all_reduce", bench.job_all_reduce, hierarchical);
  add_list("job_all_gather", bench.job_all_gather, hierarchical);
  add_list("job_reduce_scatter", bench.job_reduce_scatter, hierarchical);
  add_list("job_alltoall", bench.job_alltoall, [&](const auto& limit) {
    return limit.over == BenchOver::nvlink
               ? nvlink(profile)
               : job_alltoall(profile, limit.nodes_at_least.value_or(0));
  });
  return bounds.take();
}

}  // namespace muster
