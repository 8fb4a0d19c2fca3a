// SPDX-License-Identifier: Apache-2.0

#include "tests/checks/ask.hpp"
#include "tests/checks/gpu/linked_node.hpp"

namespace muster::gpu_fabric_test {
namespace {

constexpr AskedCheck judge{checks::gpu_fabric::check, linked_node::profile};

GpuFabric& fabric_of(Snapshot& node, std::size_t index) { return *gpu_of(node, index).fabric; }

Expected bad(std::string observed, Remedy remedy) {
  return fails("gpu0", remedy, {std::move(observed), "completed"s}, "",
               {{"gpu.nvlink_state", "gpu0"}});
}

Expected unsound(std::string faults, Remedy remedy, Outcome outcome = Outcome::fail) {
  return finds(outcome, "gpu0", remedy, {std::move(faults), "healthy"s}, "",
               {{"gpu.nvlink_state", "gpu0"}});
}

TEST(GpuFabricTest, ACleanHealthMaskHasManyForms) {
  for (const unsigned mask : {0x1aaU, 0x11aaU, 0x21aaU, 0U, 0x3U}) {
    Snapshot node = linked_node::node();
    fabric_of(node, 0).health_mask = mask;
    EXPECT_THAT(judge(node), ElementsAre(passes())) << mask;
  }
  Snapshot old_driver = linked_node::node();
  fabric_of(old_driver, 0).health_mask = absent();
  fabric_of(old_driver, 0).health_summary = absent();
  EXPECT_THAT(judge(old_driver), ElementsAre(passes()));
}

TEST(GpuFabricTest, SkipsIfNoGpuIsInAFabric) {
  Snapshot node = linked_node::node();
  gpu_of(node, 0).fabric = GpuFabric{};
  gpu_of(node, 1).fabric = absent("Not Supported (3)");
  EXPECT_THAT(judge(node), ElementsAre(skips()));
}

TEST(GpuFabricTest, FailsAGpuThatIsLeftOut) {
  for (const auto& none :
       {Fact<GpuFabric>(GpuFabric{}), Fact<GpuFabric>::absent("nvmlX: Not Supported (3)")}) {
    Snapshot node = linked_node::node();
    gpu_of(node, 0).fabric = none;
    EXPECT_THAT(judge(node), ElementsAre(bad("not supported", Remedy::reboot), passes()));
  }
}

TEST(GpuFabricTest, AGpuInSlicesTakesNoPart) {
  Snapshot node = linked_node::node();
  gpu_of(node, 0).fabric = GpuFabric{};
  gpu_of(node, 0).modes.mig = true;
  EXPECT_THAT(judge(node), ElementsAre(skips("gpu0"), passes()));
}

TEST(GpuFabricTest, FailsAGpuThatWaitsForTheFabricManager) {
  for (const auto& [state, word] :
       {std::pair(1U, "not started"), std::pair(2U, "still in progress")}) {
    Snapshot node = linked_node::node();
    fabric_of(node, 0).state = state;
    Expected waiting = bad(word, Remedy::restart_service);
    waiting.finding.seen_by.push_back(
        {.check = "host.services", .device = "nvidia-fabricmanager*"});
    EXPECT_THAT(judge(node), ElementsAre(waiting, passes()));
  }
}

TEST(GpuFabricTest, RegistrationHasItsTimeAfterTheBootAndTheDriversLoad) {
  Profile profile = linked_node::profile();
  profile.gpu->fabric.register_within = Seconds{600};
  const auto outcome_at = [&](double uptime_s, double loaded_s, std::size_t waiting) {
    Snapshot node = linked_node::node();
    node.identity->uptime_s = uptime_s;
    node.earlier.driver_loaded_s = loaded_s;
    for (std::size_t i = 0; i < waiting; ++i) fabric_of(node, i).state = 2;
    const auto finding = judge(node, profile).front();
    if (waiting == 2 && finding.outcome == Outcome::warn) {
      EXPECT_EQ(finding, warns("node", Remedy::watch, {"still in progress", "completed"}));
    }
    return finding.outcome;
  };
  for (const std::size_t waiting : {1U, 2U}) {
    EXPECT_EQ(outcome_at(40, 0, waiting), Outcome::warn);
    EXPECT_EQ(outcome_at(601, 0, waiting), Outcome::fail);
    EXPECT_EQ(outcome_at(601, 100, waiting), Outcome::warn);
    EXPECT_EQ(outcome_at(9000, 8000, waiting), Outcome::fail);
  }
}

TEST(GpuFabricTest, NoServiceOfThisNodeRegistersTheGpusOfARack) {
  Snapshot node = linked_node::node();
  for (std::size_t i = 0; i < 2; ++i) {
    fabric_of(node, i).state = 2;
    gpu_of(node, i).model = "NVIDIA GB200"s;
  }
  EXPECT_EQ(judge(node).front().remedy, Remedy::report_to_provider);
  EXPECT_TRUE(judge(node).front().seen_by.empty());
  node.identity->hypervisor = false;
  EXPECT_EQ(judge(node).front().remedy, Remedy::fix_config);
}

Profile profile_of_rack() {
  Profile profile = linked_node::profile();
  profile.gpu->fabric.cluster = true;
  return profile;
}

Snapshot node_of_rack() {
  Snapshot node = linked_node::node();
  for (std::size_t i = 0; i < 2; ++i) {
    fabric_of(node, i).cluster = std::string(32, 'a');
    fabric_of(node, i).clique = 32766;
  }
  return node;
}

Expected outside(std::string observed, std::string limit) {
  Expected finding = bad(std::move(observed), Remedy::report_to_provider);
  finding.finding.limit = std::move(limit);
  return finding;
}

TEST(GpuFabricTest, ARacksGpuIsInACluster) {
  Snapshot node = node_of_rack();
  EXPECT_THAT(judge(node, profile_of_rack()), ElementsAre(passes()));
  for (std::size_t i = 0; i < 2; ++i) fabric_of(node, i).cluster.clear();
  EXPECT_EQ(judge(node, profile_of_rack()).front(), outside("no cluster", "a cluster"));
}

TEST(GpuFabricTest, ARacksGpuInCliqueZeroIsNotRegistered) {
  Snapshot node = node_of_rack();
  for (std::size_t i = 0; i < 2; ++i) fabric_of(node, i).clique = 0;
  EXPECT_EQ(judge(node, profile_of_rack()).front(), outside("clique 0", "a clique"));
  EXPECT_THAT(judge(node), ElementsAre(passes())) << "nothing requires a cluster";
  node.identity->hypervisor = false;
  EXPECT_EQ(judge(node, profile_of_rack()).front().remedy, Remedy::fix_config);
  fabric_of(node, 1).clique = 5;
  EXPECT_EQ(judge(node, profile_of_rack()).front().observed, Value("clique 0"s));
}

TEST(GpuFabricTest, ARacksGpusWithoutAFabricAreNotSkipped) {
  Snapshot node = node_of_rack();
  for (std::size_t i = 0; i < 2; ++i) gpu_of(node, i).fabric = GpuFabric{};
  EXPECT_EQ(judge(node, profile_of_rack()).front(), outside("not supported", "a cluster"));
  EXPECT_THAT(judge(node, profile_of_rack()).back(), is(Outcome::fail, "gpu1"));
  gpu_of(node, 1).modes.mig = true;
  EXPECT_THAT(judge(node, profile_of_rack()), ElementsAre(is(Outcome::fail), skips("gpu1")));
  for (std::size_t i = 0; i < 2; ++i) gpu_of(node, i).fabric = absent("nvmlX: Not Supported (3)");
  EXPECT_THAT(judge(node, profile_of_rack()), ElementsAre(unknown("gpu0"), skips("gpu1")));
  gpu_of(node, 1).modes.mig = false;
  EXPECT_THAT(judge(node, profile_of_rack()), ElementsAre(unknown("gpu0"), unknown("gpu1")));
  gpu_of(node, 1).fabric = absent("Function Not Found (13)");
  EXPECT_THAT(judge(node, profile_of_rack()), ElementsAre(unknown("gpu0"), unknown("gpu1")));
}

TEST(GpuFabricTest, ImexRunsWithADomainAndAChannelIfItIsWanted) {
  Profile profile = linked_node::profile();
  profile.gpu->fabric.imex = true;
  Snapshot node = linked_node::node();
  node.nvml->imex_nodes = std::vector<std::string>{"10.0.0.4"};
  node.nvml->imex_channel = true;
  Services services;
  services.active = std::vector<std::string>{"nvidia-imex.service"};
  node.services = observed(std::move(services));
  EXPECT_THAT(judge(node, profile), ElementsAre(passes()));
  const auto failure = [](Remedy remedy) {
    return fails("nvidia-imex.service", remedy, {}, "", {{"host.services", "nvidia-imex.service"}});
  };
  Snapshot sick = node;
  sick.nvml->imex_channel = false;
  EXPECT_EQ(judge(sick, profile).back(), failure(Remedy::fix_config));
  sick.nvml->imex_nodes = std::vector<std::string>{};
  EXPECT_EQ(judge(sick, profile).back(), failure(Remedy::fix_config));
  sick.services->active = std::vector<std::string>{};
  EXPECT_EQ(judge(sick, profile).back(), failure(Remedy::restart_service));
  EXPECT_THAT(judge(sick), ElementsAre(passes()));
}

TEST(GpuFabricTest, ReportsOnceThatAllGpusWait) {
  Snapshot node = linked_node::node();
  fabric_of(node, 0).state = 2;
  fabric_of(node, 1).state = 2;
  auto all = fails("node", Remedy::restart_service, {"still in progress"s, "completed"s}, "",
                   {{"host.services", "nvidia-fabricmanager*"}});
  EXPECT_THAT(judge(node), ElementsAre(all));
  fabric_of(node, 1).state = 1;
  all.finding.observed = "not started"s;
  EXPECT_THAT(judge(node), ElementsAre(all));
}

TEST(GpuFabricTest, FailsARegistrationThatFailed) {
  Snapshot node = linked_node::node();
  fabric_of(node, 0).status = 999;
  EXPECT_THAT(judge(node), ElementsAre(bad("code 999", Remedy::reboot), passes()));
  node.identity->hypervisor = false;
  EXPECT_EQ(judge(node).front().remedy, Remedy::reset_gpu);
  fabric_of(node, 0).state = 2;  // only a completed registration has a status
  EXPECT_EQ(judge(node).front().observed, Value("still in progress"s));
}

TEST(GpuFabricTest, NamesFabricFaults) {
  for (const auto& [mask, faults, remedy] :
       {std::tuple(0x1a9U, "its bandwidth is degraded", Remedy::reboot),
        std::tuple(0x1a6U, "its routes are being recovered", Remedy::reboot),
        std::tuple(0x19aU, "a route is unhealthy", Remedy::reboot),
        std::tuple(0x16aU, "it recovers from an access time-out", Remedy::reboot),
        std::tuple(0x199U, "its bandwidth is degraded, a route is unhealthy", Remedy::reboot),
        std::tuple(0x2aaU, "its configuration has a wrong system GUID", Remedy::fix_config),
        std::tuple(0x3aaU, "its configuration has a wrong chassis serial number",
                   Remedy::fix_config),
        std::tuple(0x4aaU, "its configuration has no partition", Remedy::fix_config),
        std::tuple(0x5aaU, "its configuration has too few NVLinks", Remedy::fix_config),
        std::tuple(0x6aaU, "its configuration has incompatible GPU firmware", Remedy::fix_config),
        std::tuple(0x7aaU, "its configuration has an invalid location", Remedy::fix_config),
        std::tuple(0x8aaU, "its configuration has an invalid state of the GPU", Remedy::fix_config),
        std::tuple(0x9aaU, "configuration fault 9", Remedy::fix_config),
        std::tuple(0x5a9U, "its bandwidth is degraded, its configuration has too few NVLinks",
                   Remedy::reboot)}) {
    Snapshot node = linked_node::node();
    fabric_of(node, 0).health_mask = mask;
    EXPECT_THAT(judge(node), ElementsAre(unsound(faults, remedy), passes())) << mask;
  }
}

TEST(GpuFabricTest, TheSummaryCountsWithoutFaultsInTheMask) {
  Snapshot node = linked_node::node();
  fabric_of(node, 0).health_summary = 2U;
  EXPECT_THAT(judge(node),
              ElementsAre(unsound("NVML calls it unhealthy", Remedy::reboot), passes()));
  fabric_of(node, 0).health_summary = 3U;
  EXPECT_THAT(
      judge(node),
      ElementsAre(unsound("it has limited capacity", Remedy::watch, Outcome::warn), passes()));
}

TEST(GpuFabricTest, AnUnknownSummaryIsUnknownUnlessTheMaskHasFaults) {
  for (const unsigned summary : {4U, 9U, 255U}) {
    Snapshot node = linked_node::node();
    fabric_of(node, 0).health_summary = summary;
    EXPECT_THAT(judge(node), ElementsAre(unknown("gpu0"), passes())) << summary;
    fabric_of(node, 0).health_mask = 0x1a9U;
    EXPECT_EQ(judge(node).front().outcome, Outcome::fail) << summary;
  }
}

TEST(GpuFabricTest, NamesTheGpuInAnotherClusterOrClique) {
  Snapshot node = linked_node::node_of(4);
  const auto apart = [](const char* observed, const char* usual) {
    return fails("gpu3", Remedy::fix_config, {observed, usual});
  };
  fabric_of(node, 3).clique = 7;
  EXPECT_THAT(judge(node), ElementsAre(apart("cluster none clique 7", "cluster none clique 0")));
  for (std::size_t i = 0; i < 4; ++i) {
    fabric_of(node, i).clique = 0;
    fabric_of(node, i).cluster = "0a0b";
  }
  EXPECT_THAT(judge(node), ElementsAre(passes()));
  fabric_of(node, 3).cluster.clear();
  EXPECT_THAT(judge(node), ElementsAre(apart("cluster none clique 0", "cluster 0a0b clique 0")));
}

TEST(GpuFabricTest, ReportsOnceThatGpusAreInDifferentCliques) {
  Snapshot node = linked_node::node();
  fabric_of(node, 0).cluster = "0a0b";
  EXPECT_THAT(judge(node), ElementsAre(fails("node", Remedy::fix_config)));
  Snapshot five = linked_node::node_of(5);
  fabric_of(five, 0).clique = 1;
  fabric_of(five, 1).clique = 1;
  EXPECT_THAT(judge(five), ElementsAre(fails("node", Remedy::fix_config)));
}

TEST(GpuFabricTest, AGpuThatIsNotRegisteredIsInNoOtherCluster) {
  Snapshot node = linked_node::node_of(4);
  for (std::size_t i = 0; i < 3; ++i) fabric_of(node, i).cluster = "0a0b";
  fabric_of(node, 3).state = 1;
  EXPECT_THAT(judge(node), ElementsAre(is(Outcome::fail, "gpu3"), passes()));
}

TEST(GpuFabricTest, IsUnknownForUnreadableFacts) {
  Snapshot node = linked_node::node();
  fabric_of(node, 0).health_mask = unreadable();
  EXPECT_THAT(judge(node), ElementsAre(unknown("gpu0"), passes()));
  fabric_of(node, 0).state = 7;
  EXPECT_THAT(judge(node), ElementsAre(unknown("gpu0"), passes()));
  gpu_of(node, 0).fabric = unreadable();
  EXPECT_THAT(judge(node), ElementsAre(unknown("gpu0"), passes()));
  gpu_of(node, 1).fabric = unreadable();
  EXPECT_THAT(judge(node), ElementsAre(is(Outcome::unknown), is(Outcome::unknown)));
  gpu_of(node, 0).fabric = GpuFabric{.state = 3};
  gpu_of(node, 1).fabric = absent();
  EXPECT_THAT(judge(node), ElementsAre(is(Outcome::skip), passes()));
}

}  // namespace
}  // namespace muster::gpu_fabric_test
