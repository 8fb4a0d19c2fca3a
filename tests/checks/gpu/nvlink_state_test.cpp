// SPDX-License-Identifier: Apache-2.0

#include "tests/checks/ask.hpp"
#include "tests/checks/gpu/linked_node.hpp"

namespace muster::gpu_nvlink_state_test {
namespace {

constexpr AskedCheck judge{checks::gpu_nvlink_state::check, linked_node::profile};

Expected too_few(std::int64_t up) { return fails("gpu0", Remedy::reboot, {up, 18, "links"}); }

void bring_down(Snapshot& node, std::size_t gpu) {
  for (auto& link : *gpu_of(node, gpu).nvlinks) link.state = 0U;
}

TEST(GpuNvlinkStateTest, JudgesEachChange) {
  const std::vector<NodeChange> changes{
      {"a sleeping link passes at any speed",
       [](Snapshot& node) {
         link_of(node, 0, 4).state = 2U;
         link_of(node, 0, 4).speed_mbps = 0U;
       },
       {passes()}},
      {"fails a GPU that lists fewer links than expected",
       [](Snapshot& node) { gpu_of(node, 0).nvlinks->resize(12); },
       {too_few(12), passes()}},
      {"does not know links that could not be read",
       [](Snapshot& node) { gpu_of(node, 0).nvlinks = unreadable(); },
       {unknown("gpu0"), passes()}},
      {"passes a faster rounded or missing speed",
       [](Snapshot& node) {
         link_of(node, 0, 1).speed_mbps = 53125U;
         link_of(node, 0, 2).speed_mbps = 26550U;
         link_of(node, 0, 3).speed_mbps = 0U;
         link_of(node, 0, 4).speed_mbps = absent("Not Supported (3)");
       },
       {passes()}},
      {"does not know a speed that could not be read",
       [](Snapshot& node) { link_of(node, 0, 1).speed_mbps = unreadable(); },
       {unknown("gpu0"), passes()}},
      {"does not know a peer that could not be read",
       [](Snapshot& node) { link_of(node, 0, 4).remote_type = unreadable(); },
       {unknown("gpu0"), passes()}},
      {"leaves a lost GPU to gpu.present",
       [](Snapshot& node) {
         bring_down(node, 0);
         gpu_of(node, 0).lost = "nvmlDeviceGetName: GPU is lost (15)";
       },
       {passes()}},
  };
  expect_findings(judge, linked_node::node(), changes);
}

TEST(GpuNvlinkStateTest, OnBareMetalTheGpuIsReset) {
  Snapshot node = linked_node::node();
  node.identity->hypervisor = false;
  link_of(node, 0, 4).state = 0U;
  EXPECT_EQ(judge(node).front().remedy, Remedy::reset_gpu);
}

TEST(GpuNvlinkStateTest, LinksThatAreNotWiredNeedNotBeActive) {
  Profile profile = linked_node::profile();
  profile.gpu->nvlink_state.links = 12;
  Snapshot node = linked_node::node();
  for (std::size_t i = 12; i < 18; ++i) {
    link_of(node, 0, i).state = 0U;
    link_of(node, 1, i).state = absent("Not Supported (3)");
  }
  EXPECT_EQ(judge(node, profile).front().outcome, Outcome::pass);
  link_of(node, 0, 17).state = 1U;
  link_of(node, 0, 17).remote_type = 255U;
  EXPECT_EQ(judge(node, profile).front().outcome, Outcome::pass);
  link_of(node, 1, 3).state = 0U;
  EXPECT_EQ(judge(node, profile).front(), fails("gpu1", Remedy::reboot, {11, 12, "links"}));
}

TEST(GpuNvlinkStateTest, FailsOneGpuWithoutNvlinkUnlikeOthers) {
  for (const auto& none :
       {Fact<std::vector<NvLink>>(std::vector<NvLink>()),
        Fact<std::vector<NvLink>>::absent("nvmlDeviceGetNvLinkState: Not Supported (3)")}) {
    Snapshot node = linked_node::node();
    gpu_of(node, 0).nvlinks = none;
    EXPECT_THAT(judge(node), ElementsAre(too_few(0), passes()));
  }
}

// Without an expected number of links. A bridge may join only some cards; switches join all.
TEST(GpuNvlinkStateTest, AmongPeersFailsAGpuWithoutLinksOnlyBehindSwitches) {
  Profile profile = linked_node::profile();
  profile.gpu->nvlink_state = {};
  Snapshot node = linked_node::node_of(4);
  bring_down(node, 0);
  EXPECT_THAT(judge(node, profile), ElementsAre(too_few(0), passes()));
  linked_node::each_link(node, [](NvLink& link) { link.remote_type = 0U; });
  EXPECT_THAT(judge(node, profile),
              ElementsAre(warns("gpu0", Remedy::reboot, {0, 18, "links"}), passes()));
}

Expected dead(Remedy remedy) {
  return fails("node", remedy, {0, 18, "links"}, "",
               {{"gpu.fabric", "node"}, {"host.services", "nvidia-fabricmanager*"}});
}

TEST(GpuNvlinkStateTest, ReportsOnceThatNoGpuHasALink) {
  Snapshot node = linked_node::node();
  bring_down(node, 0);
  bring_down(node, 1);
  EXPECT_THAT(judge(node), ElementsAre(dead(Remedy::restart_service)));
  gpu_of(node, 1).nvlinks = absent("nvmlDeviceGetNvLinkState: Not Supported (3)");
  EXPECT_THAT(judge(node), ElementsAre(dead(Remedy::restart_service)));
  Profile without_switches = linked_node::profile();
  without_switches.topo->nvlink_matrix.ends_in = NvlinkEnd::gpu;
  EXPECT_THAT(judge(node, without_switches), ElementsAre(dead(Remedy::reboot)));
}

TEST(GpuNvlinkStateTest, SkipsDriversWithoutLinkFacts) {
  Snapshot node = linked_node::node();
  for (std::size_t i = 0; i < 2; ++i) gpu_of(node, i).nvlinks = absent();
  EXPECT_THAT(judge(node), ElementsAre(skips("gpu0"), is(Outcome::skip)));
  for (std::size_t i = 0; i < 2; ++i) {
    linked_node::complete(gpu_of(node, i));
    for (auto& link : *gpu_of(node, i).nvlinks) link.state = absent();
  }
  EXPECT_THAT(judge(node), ElementsAre(skips("gpu0"), is(Outcome::skip)));
}

TEST(GpuNvlinkStateTest, DoesNotKnowWhenAnUnclearLinkDecides) {
  Snapshot node = linked_node::node();
  auto& state = link_of(node, 0, 4).state;
  state = unreadable();
  EXPECT_THAT(judge(node), ElementsAre(unknown("gpu0"), passes()));
  state = 7U;
  EXPECT_THAT(judge(node), ElementsAre(unknown("gpu0"), passes()));
  link_of(node, 0, 5).state = 0U;
  EXPECT_EQ(judge(node).front(), too_few(16));
}

TEST(GpuNvlinkStateTest, FailsLinksThatRunSlow) {
  Snapshot node = linked_node::node();
  link_of(node, 0, 4).speed_mbps = 12500U;
  Expected slow = fails("gpu0", Remedy::reboot, {12.5, 26.562, "GB/s"});
  EXPECT_THAT(judge(node), ElementsAre(slow, passes()));
  link_of(node, 0, 5).speed_mbps = 20000U;
  EXPECT_THAT(judge(node), ElementsAre(slow, passes()));
}

TEST(GpuNvlinkStateTest, WithoutAnExpectedSpeedOnlyLinksAreCounted) {
  Profile profile = linked_node::profile();
  profile.gpu->nvlink_state.speed = {};
  Snapshot node = linked_node::node();
  link_of(node, 0, 1).speed_mbps = 1000U;
  link_of(node, 0, 2).speed_mbps = unreadable();
  EXPECT_THAT(judge(node, profile), ElementsAre(passes()));
}

TEST(GpuNvlinkStateTest, FailsActiveLinksWithoutAPeer) {
  Snapshot node = linked_node::node();
  link_of(node, 0, 4).remote_type = 255U;
  EXPECT_THAT(judge(node), ElementsAre(fails("gpu0", Remedy::reboot, {1, 0, "links"}), passes()));
  link_of(node, 0, 5).remote_type = 255U;
  EXPECT_THAT(judge(node), ElementsAre(fails("gpu0", Remedy::reboot, {2, 0, "links"}), passes()));
}

TEST(GpuNvlinkStateTest, IfNvmlKnowsNoPeerAtAllNoneIsMissing) {
  Snapshot node = linked_node::node();
  linked_node::each_link(node, [](NvLink& link) { link.remote_type = 255U; });
  EXPECT_THAT(judge(node), ElementsAre(passes()));
}

TEST(GpuNvlinkStateTest, LeavesSlicesAndVirtualGpusAlone) {
  Snapshot node = linked_node::node();
  bring_down(node, 0);
  gpu_of(node, 0).modes.mig = true;
  EXPECT_THAT(judge(node), ElementsAre(skips("gpu0"), passes()));
  for (const auto* model : {"NVIDIA A100-40C", "GRID V100D-8Q", "NVIDIA A100-1-5CME"}) {
    gpu_of(node, 0).modes.mig = false;
    gpu_of(node, 0).model = std::string(model);
    EXPECT_THAT(judge(node), ElementsAre(skips("gpu0"), passes()));
  }
  for (const auto* model : {"NVIDIA A100-SXM4-40GB", "Tesla V100-SXM2-32GB", "NVIDIA H200", ""}) {
    gpu_of(node, 0).model = std::string(model);
    EXPECT_EQ(judge(node).front().outcome, Outcome::fail) << model;
  }
}

TEST(GpuNvlinkStateTest, SkipsIfNoNvlinkIsExpected) {
  Profile profile = linked_node::profile();
  profile.gpu->nvlink_state.links = 0;
  EXPECT_THAT(judge(linked_node::node(), profile), ElementsAre(skips("node")));
}

}  // namespace
}  // namespace muster::gpu_nvlink_state_test
