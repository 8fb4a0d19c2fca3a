// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/model/cluster.hpp"
#include "bench/model/cluster_model.hpp"
#include "lib/base/text.hpp"
#include "lib/profile/load.hpp"

namespace muster::bench {
namespace {

using Kind = SimFault::Kind;

std::string error_of(std::string_view text) {
  const auto cluster = parse_sim(text);
  return cluster ? "accepted" : cluster.error().message;
}

TEST(ParseSimTest, ReadsEveryKey) {
  const auto cluster = parse_sim(
      "profile=any,nodes=4, gpus=2,hcas=1x100Gb/s,leaf=2,pod=3,link=150GB/s,latency=20us,"
      "efficiency=0.9,link_efficiency=0.8,tcp=2GB/s,algorithm=tree,noise=3%,run_noise=2%,drift=1%,"
      "seed=42");
  ASSERT_TRUE(cluster) << cluster.error().message;
  const SimCluster expected{.nodes = 4,
                            .gpus = 2,
                            .hcas = 1,
                            .nodes_per_leaf = 2,
                            .leaves_per_pod = 3,
                            .hca_rate = BitsPerSecond{100e9},
                            .link_rate = BytesPerSecond{150e9},
                            .efficiency = 0.9,
                            .link_efficiency = 0.8,
                            .latency = Seconds{20 * 1e-6},
                            .tcp_rate = BytesPerSecond{2e9},
                            .tree = true,
                            .noise = Percent{3},
                            .run_noise = Percent{2},
                            .drift = Percent{1},
                            .seed = 42};
  EXPECT_TRUE(*cluster == expected);
}

TEST(ParseSimTest, ReadsEveryFault) {
  const auto cluster = parse_sim(
      "nodes=4,leaf=2,fault=slow_node:2:0.9,fault=slow_hca:1:0:0.5,fault=slow_gpu:0:1:0.25,"
      "fault=slow_link:0:3:1,fault=slow_large:3:4:0.5,fault=slow_rail:7:0.5,fault=slow_leaf:1:0.5,"
      "fault=slow_level:2:0.5,fault=congestion:0:0.5,fault=tcp_fallback,fault=wrong:7:1234,"
      "fault=hang:5:10,fault=hang:3,fault=hang_link:0:1");
  ASSERT_TRUE(cluster) << cluster.error().message;
  const std::vector<SimFault> expected{
      {Kind::slow_node, 2, 0, 0.9}, {Kind::slow_hca, 1, 0, 0.5},   {Kind::slow_gpu, 0, 1, 0.25},
      {Kind::slow_link, 0, 3, 1},   {Kind::slow_large, 3, 4, 0.5}, {Kind::slow_rail, 7, 0, 0.5},
      {Kind::slow_leaf, 1, 0, 0.5}, {Kind::slow_level, 2, 0, 0.5}, {Kind::congestion, 0, 0, 0.5},
      {Kind::tcp_fallback},         {Kind::wrong, 7, 1234},        {Kind::hang, 5, 10},
      {Kind::hang_node, 3},         {Kind::hang_link, 0, 1}};
  EXPECT_TRUE(cluster->faults == expected);
}

TEST(ParseSimTest, KeepsTheDefaults) {
  EXPECT_TRUE(parse_sim("") == SimCluster());
  const auto cluster = parse_sim("nodes=3", {.gpus = 4, .hcas = 4});
  ASSERT_TRUE(cluster);
  EXPECT_EQ(cluster->nodes, 3);
  EXPECT_EQ(cluster->gpus, 4);
  EXPECT_EQ(parse_sim("hcas=4")->hca_rate, SimCluster().hca_rate);
}

TEST(ParseSimTest, RatesOfHealthyNodesSetTheHardware) {
  const auto cluster = parse_sim("rate=150GB/s,hcas=4,inside=200GB/s");
  ASSERT_TRUE(cluster);
  EXPECT_DOUBLE_EQ(cluster->hca_rate.value * 4 / 8 * cluster->efficiency, 150e9);
  EXPECT_DOUBLE_EQ(cluster->link_rate.value * cluster->link_efficiency, 200e9);
}

TEST(ParseSimTest, AProfileGivesTheHardware) {
  const auto profile = load_profile({}, "nd96isr_h100_v5");
  ASSERT_TRUE(profile) << profile.error().message;
  const auto cluster = sim_cluster_of(*profile);
  EXPECT_EQ(cluster.gpus, 8);
  EXPECT_EQ(cluster.hcas, 8);
  EXPECT_EQ(cluster.hca_rate, BitsPerSecond{400e9});
  EXPECT_GT(cluster.link_rate.value, 440e9);
  EXPECT_EQ(profile_of_sim("nodes=2, profile=nd96isr_h100_v5"), "nd96isr_h100_v5");
  EXPECT_EQ(profile_of_sim("nodes=2"), "");
}

TEST(ParseSimTest, ANodeWithoutGpusIsOneRank) {
  for (const auto* name : {"hb120rs_v3", "hb176rs_v4", "hc44rs", "hx176rs"}) {
    const auto profile = load_profile({}, name);
    ASSERT_TRUE(profile) << profile.error().message;
    const auto cluster = sim_cluster_of(*profile);
    EXPECT_EQ(ranks_of(cluster), 2) << name;
    EXPECT_TRUE(cluster.on_host) << name;
    EXPECT_FALSE(parse_sim("gpus=1", cluster)->on_host) << name;
    const auto gpu = parse_sim("fault=slow_gpu:0:0:0.5", cluster);
    ASSERT_FALSE(gpu) << name;
    EXPECT_EQ(gpu.error().message, "--sim: fault slow_gpu: the nodes have no GPU") << name;
  }
}

TEST(ParseSimTest, AnAlgorithmReplacesNvlsInsideANode) {
  const auto profile = load_profile({}, "nd96isr_h200_v5");
  ASSERT_TRUE(profile) << profile.error().message;
  const auto defaults = sim_cluster_of(*profile);
  const SimGroup one{.nodes = {0}};
  const auto rate = [&](std::string_view sim) {
    const auto cluster = parse_sim(sim, defaults);
    return ClusterModel(*cluster).bandwidth(one, Collective::all_reduce, {}) / 1e9;
  };
  const double expected = profile->bench->node_all_reduce.expected->value / 1e9;
  EXPECT_NEAR(rate(""), expected, 0.1);
  EXPECT_LT(rate("algorithm=ring"), 0.9 * expected);
  EXPECT_NEAR(rate("inside=300GB/s"), 300, 0.1);
  EXPECT_NEAR(rate("inside=300GB/s,algorithm=ring"), 300, 0.1);
  EXPECT_NEAR(rate("fault=slow_gpu:0:1:0.5"), expected / 2, 0.1);
}

TEST(ParseSimTest, NodesOfARackShareADomain) {
  const auto profile = load_profile({}, "nd128isr_gb300_v6");
  ASSERT_TRUE(profile) << profile.error().message;
  const auto cluster = sim_cluster_of(*profile);
  EXPECT_EQ(cluster.nodes_per_domain, 18);
  EXPECT_NEAR(cluster.link_rate.value * cluster.link_efficiency, 937e9, 1e6);
  EXPECT_TRUE(share_domain(cluster, 0, 17));
  EXPECT_FALSE(share_domain(cluster, 17, 18));
  EXPECT_FALSE(share_domain(SimCluster(), 0, 0));
}

TEST(ParseSimTest, ErrorsNameTheWordAndWhatIsExpected) {
  for (const auto& [text, error] :
       {std::pair{"nodes", "--sim: nodes: no value"},
        {"nodes=many", "--sim: nodes: invalid number \"many\", expected 1 to 4096"},
        {"efficiency=1.1",
         "--sim: efficiency: invalid share \"1.1\", expected above 0 and at most 1"},
        {"algorithm=star", "--sim: algorithm: unknown algorithm \"star\", expected ring or tree"},
        {"noise=50%", "--sim: noise: expected below 50%"},
        {"seed=x", "--sim: seed: invalid number \"x\""},
        {"link=0GB/s", "--sim: link: expected above 0"},
        {"fault=slow_hca:1:3",
         "--sim: fault: invalid fault \"slow_hca:1:3\", expected slow_hca:NODE:HCA:FACTOR"},
        {"fault=tcp_fallback:1",
         "--sim: fault: invalid fault \"tcp_fallback:1\", expected tcp_fallback"},
        {"fault=slow_node:x:0.5",
         "--sim: fault: invalid fault \"slow_node:x:0.5\": \"x\" is not a number"},
        {"fault=slow_node:1:0",
         "--sim: fault: invalid share \"0\", expected above 0 and at most 1"},
        {"fault=slow_hca:2:0:0.5", "--sim: fault slow_hca: unknown node 2, expected 0 to 1"},
        {"fault=slow_hca:1:8:0.5", "--sim: fault slow_hca: unknown hca 8, expected 0 to 7"},
        {"gpus=4,fault=slow_gpu:1:4:0.5", "--sim: fault slow_gpu: unknown gpu 4, expected 0 to 3"},
        {"fault=slow_link:0:0:0.5", "--sim: fault slow_link: expected two different nodes"},
        {"fault=slow_level:3:0.5", "--sim: fault slow_level: unknown level 3, expected 1 to 2"},
        {"fault=hang:16:0", "--sim: fault hang: unknown rank 16, expected 0 to 15"},
        {"nodes=2,nodes=3", "--sim: nodes is given twice"},
        // A later word may make room for an earlier one.
        {"fault=hang:16:0,nodes=3", "accepted"}}) {
    EXPECT_EQ(error_of(text), error);
  }
  EXPECT_THAT(error_of("colour=blue"),
              testing::StartsWith("--sim: unknown word \"colour\"; valid words: profile, nodes"));
  EXPECT_THAT(error_of("node=2"), testing::EndsWith(", fault; did you mean nodes?"));
  EXPECT_THAT(error_of("fault=fire"), testing::EndsWith("wrong, hang, hang_link"));
  EXPECT_THAT(error_of("fault=slow_hcas:1:1:1"), testing::EndsWith("did you mean slow_hca?"));
  EXPECT_THAT(error_of("hcas=8x200"), testing::StartsWith("--sim: hcas: "));
  EXPECT_TRUE(check_sim("fault=slow_gpu:1:12:0.5")) << "a profile may have 16 GPUs";
  EXPECT_FALSE(check_sim("fault=slow_gpus:1:12:0.5"));
}

TEST(ParseSimTest, TheHelpHasEveryWordAndFault) {
  for (const auto* const unknown : {"x=1", "fault=x"}) {
    const auto error = error_of(unknown);
    const auto words = split(std::string_view(error).substr(error.rfind(": ") + 2), ',');
    EXPECT_GT(words.size(), 10U);
    for (const auto word : words) {
      EXPECT_THAT(std::string(kSimHelp), testing::HasSubstr(std::string(trim(word)))) << unknown;
    }
  }
}

}  // namespace
}  // namespace muster::bench
