// SPDX-License-Identifier: Apache-2.0
// No limit of a shipped profile is above what the hardware that it describes can do: such a limit
// would fail every healthy node.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>

#include "lib/profile/load.hpp"

namespace muster {
namespace {

using Rate = std::optional<double>;  // none if the profile does not tell

constexpr double kBitsPerByte = 8;

// Payload per transferred bit: 8b/10b up to 5 GT/s, 128b/130b up to 32 GT/s, then flits of 256
// bytes with 242 of payload.
double pcie_efficiency(double transfers) {
  if (transfers <= 5e9) return 8.0 / 10;
  return transfers <= 32e9 ? 128.0 / 130 : 242.0 / 256;
}

Rate pcie(const Profile& p) {
  const auto& [speed, width] = p.pci->link.gpu;
  if (!speed || !width) return std::nullopt;
  return speed->value * *width / kBitsPerByte * pcie_efficiency(speed->value);
}

Rate nvlink(const Profile& p) {
  const auto& [links, speed] = p.gpu->nvlink_state;
  if (!links || !speed) return std::nullopt;
  return *links * speed->value;
}

// All HCAs of one node.
Rate fabric(const Profile& p) {
  const auto& hcas = p.ib->present.count;
  const auto& rate = p.ib->rate.expected;
  if (!hcas || !rate) return std::nullopt;
  return *hcas * rate->value / kBitsPerByte;
}

double gpus(const Profile& p) { return std::max(1, p.gpu->present.count.value_or(1)); }

Rate scaled(Rate rate, double factor) {
  if (rate) *rate *= factor;
  return rate;
}

// A ring moves what one GPU's links carry. With NVLS the switch adds, so every byte crosses a link
// once; an unstated algorithm may be NVLS.
Rate node_all_reduce(const Profile& p, Limit<BenchAlgorithm> algorithm) {
  const double n = gpus(p);
  return algorithm == BenchAlgorithm::ring ? nvlink(p)
                                           : scaled(nvlink(p), std::max(1.0, 2 * (n - 1) / n));
}

// A ring sends all data through every node's HCAs; hierarchical algorithms what is left after
// reducing inside the node; CollNet lets the network add. NVLinks between nodes make them one.
Rate job_all_reduce(const Profile& p, const BenchLimit<BytesPerSecond>& limit) {
  if (limit.over == BenchOver::nvlink) return node_all_reduce(p, limit.algorithm);
  if (limit.algorithm == BenchAlgorithm::ring) return fabric(p);
  const double nodes = limit.nodes_at_least.value_or(2);
  // Without GPUs the ranks are processes, at most one per core.
  const double ranks = expects_gpus(p) ? gpus(p) : std::max(1, p.host->cpu.cores.value_or(1));
  const double all = nodes * ranks;
  return scaled(fabric(p), limit.algorithm == BenchAlgorithm::collnet
                               ? 2 * (all - 1) / all
                               : (all - 1) / (ranks * (nodes - 1)));
}

// Each rank sends to those of other nodes through its share of the node's HCAs.
Rate job_alltoall(const Profile& p, const BenchLimit<BytesPerSecond>& limit) {
  if (limit.over == BenchOver::nvlink) return nvlink(p);
  if (!expects_gpus(p)) return std::nullopt;
  const double ranks = gpus(p);
  const double all = limit.nodes_at_least.value_or(2) * ranks;
  return scaled(fabric(p), (all - 1) / (ranks * (all - ranks)));
}

class Bounds {
 public:
  template <class Q>
  void expect_below(const std::string& path, const BenchLimit<Q>& limit, Rate ceiling) {
    // Even the best links reach only 96 to 98% of their ceiling.
    constexpr double kBestLink = 0.98;
    if (!ceiling) return;
    for (const auto& value : {limit.expected, limit.promised}) {
      if (value) expect_at_most(path, value->value, *ceiling);
    }
    for (const auto& value : {limit.warn_below, limit.fail_below}) {
      if (value) expect_at_most(path, value->value, *ceiling * kBestLink);
    }
  }

  void expect_at_most(const std::string& path, double value, double ceiling) {
    constexpr double kRounding = 1e-9;
    EXPECT_LE(value, ceiling * (1 + kRounding)) << path;
    ++checked_;
  }

  [[nodiscard]] int checked() const { return checked_; }

 private:
  int checked_ = 0;
};

template <class Ceiling>
void expect_each_below(Bounds& bounds, const Profile& p, std::string_view name,
                       const std::vector<BenchLimit<BytesPerSecond>>& limits,
                       const Ceiling& ceiling) {
  for (std::size_t i = 0; i < limits.size(); ++i) {
    bounds.expect_below(fmt::format("{}: {}.{}", p.name, name, i), limits[i],
                        ceiling(p, limits[i]));
  }
}

int expect_below_ceilings(const Profile& p) {
  const BenchLimits& bench = *p.bench;
  Bounds bounds;
  const bool through_pcie = bench.host_copy.memory != BenchMemory::host;
  if (through_pcie) bounds.expect_below("host_copy", bench.host_copy, pcie(p));
  bounds.expect_below("peer_copy", bench.peer_copy, nvlink(p));
  bounds.expect_below("node_all_reduce", bench.node_all_reduce,
                      node_all_reduce(p, bench.node_all_reduce.algorithm));
  bounds.expect_below("loopback_all_reduce", bench.loopback_all_reduce,
                      scaled(fabric(p), 1 / gpus(p)));
  expect_each_below(bounds, p, "job_all_reduce", bench.job_all_reduce, job_all_reduce);
  expect_each_below(bounds, p, "job_all_gather", bench.job_all_gather, job_all_reduce);
  expect_each_below(bounds, p, "job_reduce_scatter", bench.job_reduce_scatter, job_all_reduce);
  expect_each_below(bounds, p, "job_alltoall", bench.job_alltoall, job_alltoall);
  const auto& rate = p.ib->rate;
  if (rate.expected) {
    bounds.expect_below("hca_write", bench.hca_write, rate.expected->value);
    const auto& lane =
        kIbSpeeds.at(static_cast<std::size_t>(rate.speed.value_or(IbLaneSpeed::xdr)));
    bounds.expect_at_most("ib.rate", rate.expected->value,
                          lanes_of(rate.width.value_or(IbWidth::x4)) * lane.lane_bps);
  }
  return bounds.checked();
}

TEST(CeilingsTest, AreAboveEveryLimitOfTheShippedProfiles) {
  const auto names = profile_names({});
  ASSERT_TRUE(names.has_value()) << names.error().message;
  int checked = 0;
  for (const auto& name : *names) {
    const auto profile = load_profile({}, name);
    ASSERT_TRUE(profile.has_value()) << profile.error().message;
    SCOPED_TRACE(profile->name);
    checked += expect_below_ceilings(*profile);
  }
  EXPECT_GT(checked, 200);
}

}  // namespace
}  // namespace muster
