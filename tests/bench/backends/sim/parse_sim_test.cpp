// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/backends/sim/cluster.hpp"

namespace muster::bench {
namespace {

std::string complaint_about(std::string_view text) {
  const auto cluster = parse_sim(text);
  return cluster ? "accepted" : cluster.error().message;
}

TEST(ParseSimTest, ReadsEveryKey) {
  const auto cluster = parse_sim(
      "nodes=4, gpus=2,hcas=1x100Gb/s,link=150GB/s,latency=20us,efficiency=0.9,link_efficiency=0.8,"
      "tcp=2GB/s,algorithm=tree,noise=3%,seed=42,fault=slow_hca:1:0:0.5,fault=slow_gpu:0:1:0.25,"
      "fault=slow_node:2:0.9,fault=slow_link:0:3:1,fault=tcp_fallback,fault=wrong:7:1234,"
      "fault=hang:5:10");
  ASSERT_TRUE(cluster) << cluster.error().message;
  using Kind = SimFault::Kind;
  const SimCluster expected{.nodes = 4,
                            .gpus = 2,
                            .hcas = 1,
                            .hca_rate = BitsPerSecond{100e9},
                            .link_rate = BytesPerSecond{150e9},
                            .efficiency = 0.9,
                            .link_efficiency = 0.8,
                            .latency = Seconds{20 * 1e-6},
                            .tcp_rate = BytesPerSecond{2e9},
                            .tree = true,
                            .noise = Percent{3},
                            .seed = 42,
                            .faults = {{Kind::slow_hca, 1, 0, 0.5},
                                       {Kind::slow_gpu, 0, 1, 0.25},
                                       {Kind::slow_node, 2, 0, 0.9},
                                       {Kind::slow_link, 0, 3, 1},
                                       {Kind::tcp_fallback, 0, 0, 1},
                                       {Kind::wrong, 7, 1234, 1},
                                       {Kind::hang, 5, 10, 1}}};
  EXPECT_TRUE(*cluster == expected);
}

TEST(ParseSimTest, KeepsTheDefaultsThatItDoesNotName) {
  EXPECT_TRUE(parse_sim("") == SimCluster());
  const auto cluster = parse_sim("nodes=3", {.gpus = 4, .hcas = 4});
  ASSERT_TRUE(cluster);
  EXPECT_EQ(cluster->nodes, 3);
  EXPECT_EQ(cluster->gpus, 4);
  EXPECT_EQ(parse_sim("hcas=4")->hca_rate, SimCluster().hca_rate);
}

TEST(ParseSimTest, NamesTheWordAndWhatIsKnown) {
  for (const auto& [text, complaint] :
       {std::pair{"node=2", "--sim: \"node\" is no key; did you mean nodes?"},
        {"colour=blue",
         "--sim: \"colour\" is no key; known: nodes, gpus, hcas, link, latency, efficiency, "
         "link_efficiency, tcp, algorithm, noise, run_noise, seed, fault"},
        {"nodes", "--sim: nodes has no value"},
        {"nodes=2,",
         "--sim: \"\" is no key; known: nodes, gpus, hcas, link, latency, efficiency, "
         "link_efficiency, tcp, algorithm, noise, run_noise, seed, fault"},
        {"nodes=many", "--sim: nodes=many is no whole number up to 1024"},
        {"nodes=2000", "--sim: nodes=2000 is no whole number up to 1024"},
        {"nodes=0", "--sim: a cluster has a node and a GPU"},
        {"efficiency=1.1", "--sim: efficiency is \"1.1\"; it must be above 0 and at most 1"},
        {"algorithm=star", "--sim: \"star\" is no algorithm; known: ring, tree"},
        {"noise=100%", "--sim: noise must be below 100%"},
        {"run_noise=11%", "--sim: run_noise must be 10% or less"},
        {"seed=x", "--sim: seed=x is no whole number"},
        {"link=0GB/s", "--sim: a rate of 0 moves nothing"},
        {"fault=slow_hcas:1:1:1", "--sim: \"slow_hcas\" is no fault; did you mean slow_hca?"},
        {"fault=fire",
         "--sim: \"fire\" is no fault; known: slow_hca, slow_gpu, slow_node, slow_link, "
         "tcp_fallback, wrong, hang"},
        {"fault=slow_hca:1:3", "--sim: fault slow_hca:1:3 is written slow_hca:NODE:INDEX:FACTOR"},
        {"fault=tcp_fallback:1", "--sim: fault tcp_fallback:1 is written tcp_fallback"},
        {"fault=slow_node:x:0.5", "--sim: fault slow_node:x:0.5: \"x\" is no number"},
        {"fault=slow_node:1:0",
         "--sim: the factor of slow_node:1:0 is \"0\"; it must be above 0 and at most 1"},
        {"fault=slow_hca:2:0:0.5", "--sim: there is no node 2; there are 2, numbered from 0"},
        {"fault=slow_hca:1:8:0.5", "--sim: there is no HCA 8; there are 8, numbered from 0"},
        {"gpus=4,fault=slow_gpu:1:4:0.5", "--sim: there is no GPU 4; there are 4, numbered from 0"},
        {"fault=slow_link:0:0:0.5", "--sim: slow_link is between two nodes"},
        {"fault=hang:16:0", "--sim: there is no rank 16; there are 16, numbered from 0"},
        // A later word may make room for an earlier one.
        {"fault=hang:16:0,nodes=3", "accepted"}}) {
    EXPECT_EQ(complaint_about(text), complaint);
  }
  EXPECT_THAT(complaint_about("latency=12"), testing::StartsWith("--sim: latency: "));
  EXPECT_THAT(complaint_about("hcas=8x200"), testing::StartsWith("--sim: hcas: "));
}

}  // namespace
}  // namespace muster::bench
