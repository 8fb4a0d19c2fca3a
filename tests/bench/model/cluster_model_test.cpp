// SPDX-License-Identifier: Apache-2.0
#include "bench/model/cluster_model.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>

namespace muster::bench {
namespace {

constexpr std::uint64_t kGibibyte = std::uint64_t{1} << 30U;

SimCluster cluster_of(std::string_view words) {
  const auto cluster = parse_sim(words);
  EXPECT_TRUE(cluster) << words << ": " << cluster.error().message;
  return cluster.value_or(SimCluster());
}

Operation operation_of(Collective collective, std::uint64_t bytes = 8 * kGibibyte) {
  return {.collective = collective, .bytes = bytes};
}

double seconds_of(const SimCluster& cluster, const Operation& operation) {
  return ClusterModel(cluster).seconds(whole(cluster), operation);
}

// In GB/s.
double bus_of(const SimCluster& cluster, const Operation& operation) {
  const int ranks = ranks_of(cluster);
  return static_cast<double>(shape_of(operation, 0, ranks).bytes) *
         bus_factor(operation.collective, ranks) / seconds_of(cluster, operation) / 1e9;
}

double all_reduce(std::string_view words) {
  return bus_of(cluster_of(words), operation_of(Collective::all_reduce));
}

TEST(SimClusterTest, AHealthyOneIsNdA100) {
  EXPECT_NEAR(all_reduce(""), 187.4, 0.2);
  EXPECT_NEAR(all_reduce("nodes=1"), 232.4, 0.2);
  EXPECT_GT(all_reduce("nodes=64"), 185);
}

struct Fault {
  std::string words;
  double gbps;
};

class SimFaultTest : public ::testing::TestWithParam<Fault> {};

INSTANTIATE_TEST_SUITE_P(
    All, SimFaultTest,
    ::testing::Values(
        Fault{"fault=slow_hca:1:3:0.5", 93.7},
        Fault{"fault=slow_hca:1:3:0.5,fault=slow_hca:0:1:0.25", 46.9},
        Fault{"fault=slow_gpu:0:7:0.5", 93.7}, Fault{"fault=slow_node:0:0.8", 149.9},
        Fault{"fault=slow_rail:3:0.5", 93.7}, Fault{"nodes=4,fault=slow_large:2:4:0.5", 93.7},
        Fault{"nodes=3,fault=slow_large:2:3:0.5", 93.7},
        Fault{"nodes=4,leaf=2,fault=slow_leaf:1:0.5", 93.2},
        Fault{"nodes=4,leaf=4,fault=slow_leaf:0:0.5", 187.4},
        Fault{"nodes=4,leaf=2,fault=slow_level:1:0.5", 93.2},
        Fault{"nodes=4,leaf=2,fault=slow_level:2:0.5", 186.5},
        Fault{"nodes=4,leaf=1,pod=2,fault=slow_level:2:0.5", 93.7},
        Fault{"nodes=4,leaf=2,fault=congestion:1:0.5", 93.2},
        Fault{"fault=slow_link:0:1:0.5", 93.7}, Fault{"nodes=4,fault=slow_link:3:0:0.5", 93.7},
        // A ring of nodes does not use this edge.
        Fault{"nodes=4,fault=slow_link:0:2:0.5", 187.4}, Fault{"fault=tcp_fallback", 10},
        Fault{"fault=tcp_fallback,tcp=1GB/s", 1}, Fault{"hcas=0", 10},
        // Within a rack only its links matter.
        Fault{"nodes=4,domain=4,fault=slow_hca:1:3:0.5", 232.4},
        Fault{"nodes=4,domain=4,fault=slow_gpu:1:3:0.5", 116.2},
        Fault{"nodes=4,domain=4,fault=ib_fallback", 187.4},
        Fault{"nodes=4,domain=4,fault=tcp_fallback", 10},
        Fault{"nodes=4,domain=2,fault=slow_hca:1:3:0.5", 93.7},
        // These make nothing slower.
        Fault{"fault=wrong:3:7,fault=hang:1:5,fault=hang:1", 187.4},
        Fault{"nodes=1,fault=slow_hca:0:3:0.5", 232.4},
        Fault{"nodes=1,fault=slow_gpu:0:3:0.5", 116.2},
        Fault{"nodes=1,fault=tcp_fallback", 232.4}));

TEST_P(SimFaultTest, LeavesTheRateOfTheSlowestPart) {
  const auto& [words, gbps] = GetParam();
  EXPECT_NEAR(all_reduce(words), gbps, 0.3) << words;
}

// The ceilings of profiles, at full efficiency and without latency to speak of.
TEST(SimClusterTest, ReachesTheCeilingsOfItsHardware) {
  struct Case {
    std::string words;
    Collective collective;
    double gbps;
  };

  const std::string perfect =
      "hcas=8x400Gb/s,link=2000GB/s,efficiency=1,link_efficiency=1,latency=0.000001us,";
  for (const auto& [words, collective, gbps] :
       {Case{"nodes=8", Collective::all_reduce, 400},
        Case{"nodes=2,algorithm=tree", Collective::all_reduce, 750},
        Case{"nodes=3,algorithm=tree", Collective::all_gather, 575},
        Case{"nodes=8,algorithm=tree", Collective::reduce_scatter, 450},
        Case{"nodes=2", Collective::alltoall, 93.75}, Case{"nodes=8", Collective::alltoall, 56.25},
        Case{"nodes=8", Collective::alltoallv, 56.25},
        Case{"nodes=8", Collective::hypercube, 56.25}, Case{"nodes=8", Collective::broadcast, 400},
        Case{"nodes=8", Collective::reduce, 400}, Case{"nodes=2", Collective::sendrecv, 50},
        Case{"nodes=2", Collective::gather, 93.75}, Case{"nodes=2", Collective::scatter, 93.75}}) {
    const auto cluster = cluster_of(perfect + words);
    EXPECT_NEAR(bus_of(cluster, operation_of(collective)), gbps, 0.01)
        << words << ' ' << to_string(collective);
  }
}

TEST(SimClusterTest, SmallMessagesTakeAsLongAsTheirLatency) {
  const SimCluster cluster;
  const double empty = seconds_of(cluster, operation_of(Collective::all_reduce, 8));
  EXPECT_NEAR(empty, 42e-6, 1e-6);
  EXPECT_LT(seconds_of(cluster, operation_of(Collective::all_reduce, 4096)), empty * 1.01);
  EXPECT_GT(seconds_of(cluster_of("nodes=64"), operation_of(Collective::all_reduce, 8)), empty);
  EXPECT_GT(seconds_of(cluster_of("fault=tcp_fallback"), operation_of(Collective::all_reduce, 8)),
            empty);
}

TEST(SimClusterTest, LargerOperationsTakeLonger) {
  const SimCluster cluster;
  for (int i = 0; i < static_cast<int>(kCollectives); ++i) {
    if (!moves_data(static_cast<Collective>(i))) continue;
    double before = 0;
    for (std::uint64_t bytes = 1024; bytes <= kGibibyte; bytes *= 32) {
      const double now = seconds_of(cluster, operation_of(static_cast<Collective>(i), bytes));
      EXPECT_GT(now, before) << i;
      before = now;
    }
  }
}

TEST(SimClusterTest, ASingleRankSendsNothing) {
  const auto cluster = cluster_of("nodes=1,gpus=1");
  EXPECT_EQ(bus_of(cluster, operation_of(Collective::all_reduce)), 0);
  EXPECT_GT(seconds_of(cluster, operation_of(Collective::all_reduce)), 0);
}

TEST(SimNoiseTest, FollowsFromTheSeed) {
  const auto cluster = cluster_of("noise=3%,run_noise=1%,drift=1%,seed=7");
  const auto other = cluster_of("noise=3%,run_noise=1%,drift=1%,seed=8");
  for (const auto factor : {noise_factor, run_factor}) {
    EXPECT_EQ(factor(cluster, 1), factor(cluster, 1));
    EXPECT_NE(factor(cluster, 1), factor(cluster, 2));
    EXPECT_NE(factor(cluster, 1), factor(other, 1));
    EXPECT_EQ(factor(SimCluster(), 5), 1);
  }
}

TEST(SimNoiseTest, HasItsStandardDeviation) {
  const auto cluster = cluster_of("noise=3%");
  constexpr int kIterations = 10000;
  double sum = 0;
  double squares = 0;
  for (int i = 0; i < kIterations; ++i) {
    const double away = noise_factor(cluster, static_cast<std::uint64_t>(i)) - 1;
    sum += away;
    squares += away * away;
  }
  EXPECT_NEAR(sum / kIterations, 0, 1e-3);
  EXPECT_NEAR(std::sqrt(squares / kIterations), 0.03, 1e-3);
}

TEST(SimGroupTest, ARailHasTheFaultsOfItsGpu) {
  const auto cluster = cluster_of("nodes=16,fault=slow_hca:5:3:0.5,fault=slow_gpu:2:4:0.5");
  const ClusterModel model(cluster);
  const auto rail = [&](int gpu) {
    std::vector<int> ranks;
    for (int node = 0; node < 16; ++node) ranks.push_back(node * 8 + gpu);
    return model.bandwidth(group_of(cluster, ranks).value(), Collective::all_reduce, {}) / 1e9;
  };
  EXPECT_NEAR(rail(0), 23.4, 0.1);
  EXPECT_NEAR(rail(3), 11.7, 0.1);
  EXPECT_NEAR(rail(4), 11.7, 0.1);
}

TEST(SimGroupTest, ANodeHasItsOwnFaults) {
  const auto cluster = cluster_of("nodes=4,fault=slow_node:2:0.5,fault=hang:17:9,fault=hang:3");
  const ClusterModel model(cluster);
  const auto third = group_of(cluster, {16, 17, 18, 19, 20, 21, 22, 23}).value();
  EXPECT_EQ(model.ranks_of(third), 8);
  EXPECT_EQ(model.rank_in(third, 17), 1);
  EXPECT_EQ(model.rank_in(third, 3), std::nullopt);
  EXPECT_EQ(model.global_rank(third, 1), 17);
  EXPECT_NEAR(model.bandwidth(third, Collective::all_reduce, {}) / 1e9, 116.2, 0.1);
  EXPECT_EQ(model.hang_of(third)->operation, 9U);
  EXPECT_FALSE(model.hang_of({.nodes = {0, 1}}));
  EXPECT_EQ(model.hang_of({.nodes = {0, 3}})->rank, 24);
}

TEST(SimGroupTest, OtherRanksAreRefused) {
  const auto group = group_of(cluster_of("nodes=2"), {0, 1, 8});
  ASSERT_FALSE(group);
  EXPECT_THAT(group.error().message, testing::HasSubstr("neither whole nodes"));
}

}  // namespace
}  // namespace muster::bench
