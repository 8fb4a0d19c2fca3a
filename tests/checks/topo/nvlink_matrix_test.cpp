// SPDX-License-Identifier: Apache-2.0

#include "tests/checks/ask.hpp"
#include "tests/checks/gpu/linked_node.hpp"

namespace muster::topo_nvlink_matrix_test {
namespace {

constexpr AskedCheck judge{checks::topo_nvlink_matrix::check, linked_node::profile};

Profile direct(Limit<int> neighbours = {}, std::map<std::string, Words> pairs = {}) {
  Profile profile = linked_node::profile();
  profile.topo->nvlink_matrix = {
      .ends_in = NvlinkEnd::gpu, .neighbours = neighbours, .pairs = std::move(pairs)};
  return profile;
}

std::string address(unsigned gpu) { return fmt::format("000{}:00:00.0", gpu + 1); }

void lead(NvLink& link, unsigned gpu) {
  link.remote_type = 0U;
  link.remote_address = address(gpu);
}

// GPU 0 is linked with 1, 2 with 3.
Snapshot bridged() {
  Snapshot node = linked_node::node_of(4);
  for (unsigned gpu = 0; gpu < 4; ++gpu) {
    for (auto& link : *gpu_of(node, gpu).nvlinks) lead(link, gpu ^ 1U);
  }
  return node;
}

Expected wrong(checks::Values values) {
  return fails("gpu0", Remedy::report_to_provider, std::move(values));
}

TEST(TopoNvlinkMatrixTest, FailsLinksThatLeadToSomethingElse) {
  Snapshot node = linked_node::node();
  link_of(node, 0, 4).remote_type = 0U;
  EXPECT_THAT(judge(node), ElementsAre(wrong({"a GPU", "a switch"})));
  link_of(node, 0, 5).remote_type = 0U;
  EXPECT_EQ(judge(node).front(), fails("gpu0", Remedy::report_to_provider, {"a GPU", "a switch"}));
  link_of(node, 0, 4).remote_type = 1U;
  EXPECT_EQ(judge(node).front().observed, Value("a processor"s));
  link_of(node, 0, 4).remote_type = 9U;
  EXPECT_EQ(judge(node).front().observed, Value("something unknown"s));
  node.identity->hypervisor = false;
  EXPECT_EQ(judge(node).front().remedy, Remedy::reseat_or_replace);
}

TEST(TopoNvlinkMatrixTest, LeavesLostLinksToGpuNvlinkState) {
  Snapshot node = linked_node::node();
  link_of(node, 0, 4).state = 0U;
  link_of(node, 0, 4).remote_type = 0U;
  link_of(node, 0, 5).remote_type = 255U;
  EXPECT_THAT(judge(node), ElementsAre(passes()));
  for (auto& link : *gpu_of(node, 0).nvlinks) link.state = 0U;
  EXPECT_THAT(judge(node), ElementsAre(passes()));
  for (auto& link : *gpu_of(node, 1).nvlinks) link.state = 0U;
  EXPECT_THAT(judge(node), ElementsAre(skips()));
}

TEST(TopoNvlinkMatrixTest, SkipsWithoutPeersInNvml) {
  Snapshot node = linked_node::node();
  linked_node::each_link(node, [](NvLink& link) { link.remote_type = 255U; });
  EXPECT_THAT(judge(node), ElementsAre(skips()));
  for (auto& gpu : node.nvml->gpus) gpu.nvlinks = absent("Not Supported (3)");
  EXPECT_THAT(judge(node), ElementsAre(skips()));
}

TEST(TopoNvlinkMatrixTest, IsUnknownForUnreadableFacts) {
  Snapshot node = linked_node::node();
  link_of(node, 0, 4).remote_type = unreadable();
  EXPECT_THAT(judge(node), ElementsAre(unknown("gpu0")));
  Snapshot peers = bridged();
  link_of(peers, 0, 4).remote_address = unreadable();
  link_of(peers, 0, 5).remote_address = unreadable();
  EXPECT_THAT(judge(peers, direct(1)), ElementsAre(unknown("gpu0")));
}

TEST(TopoNvlinkMatrixTest, PassesBridgedPairs) {
  EXPECT_THAT(judge(bridged(), direct()), ElementsAre(passes()));
  EXPECT_THAT(judge(bridged(), direct(1)), ElementsAre(passes()));
  EXPECT_THAT(judge(bridged(), direct(1, {{address(0), {address(1)}}})), ElementsAre(passes()));
}

TEST(TopoNvlinkMatrixTest, FailsADirectLinkThatEndsInASwitch) {
  Snapshot node = bridged();
  link_of(node, 0, 4).remote_type = 2U;
  EXPECT_THAT(judge(node, direct()), ElementsAre(wrong({"a switch", "a GPU"})));
}

TEST(TopoNvlinkMatrixTest, FailsABridgeOnTheWrongPair) {
  Snapshot node = linked_node::node_of(4);
  for (unsigned gpu = 0; gpu < 4; ++gpu) {
    for (auto& link : *gpu_of(node, gpu).nvlinks) lead(link, gpu ^ 2U);
  }
  EXPECT_THAT(judge(node, direct(1)), ElementsAre(passes()));
  EXPECT_THAT(judge(node, direct(1, {{address(0), {address(1)}}})),
              ElementsAre(wrong({"0003:00:00.0", "0002:00:00.0"})));
}

TEST(TopoNvlinkMatrixTest, FailsAnotherNumberOfNeighbours) {
  Snapshot node = bridged();
  lead(link_of(node, 0, 4), 2);
  EXPECT_THAT(judge(node, direct(1)), ElementsAre(wrong({2, 1, "GPUs"})));
  EXPECT_THAT(
      judge(node, direct(2)),
      ElementsAre(is(Outcome::fail, "gpu1"), is(Outcome::fail, "gpu2"), is(Outcome::fail, "gpu3")));
}

TEST(TopoNvlinkMatrixTest, ALinkThatIsDownMayBeTheOneThatIsMissed) {
  Snapshot node = bridged();
  for (unsigned gpu = 0; gpu < 4; ++gpu) link_of(node, gpu, 4).state = 0U;
  EXPECT_THAT(judge(node, direct(2, {{address(0), {address(1), address(3)}}})),
              ElementsAre(passes()));
}

TEST(TopoNvlinkMatrixTest, FailsALinkToNoOtherGpuOfTheNode) {
  Snapshot node = bridged();
  lead(link_of(node, 0, 4), 0);
  EXPECT_THAT(judge(node, direct()),
              ElementsAre(wrong({"0001:00:00.0", "another GPU of this node"})));
  lead(link_of(node, 0, 4), 8);
  EXPECT_THAT(judge(node, direct()),
              ElementsAre(wrong({"0009:00:00.0", "another GPU of this node"})));
}

TEST(TopoNvlinkMatrixTest, AGpuThatIsNotListedMayBeTheOtherEnd) {
  Profile profile = direct(1);
  profile.gpu->present.count = 4;
  Snapshot node = bridged();
  node.nvml->gpus.pop_back();
  EXPECT_THAT(judge(node, profile), ElementsAre(passes()));
}

TEST(TopoNvlinkMatrixTest, APairWithALostGpuIsLeftToGpuPresent) {
  Snapshot node = bridged();
  gpu_of(node, 3).lost = "nvmlDeviceGetName: GPU is lost (15)";
  EXPECT_THAT(judge(node, direct(1, {{address(0), {address(1), address(3)}}})),
              ElementsAre(passes()));
}

TEST(TopoNvlinkMatrixTest, AddressesOfAnotherMachineSayNothing) {
  Snapshot node = bridged();
  linked_node::each_link(node, [](NvLink& link) { link.remote_address = "0000:ab:00.0"s; });
  EXPECT_THAT(judge(node, direct(1)), ElementsAre(passes()));
}

TEST(TopoNvlinkMatrixTest, LeavesSlicesAlone) {
  Snapshot node = linked_node::node();
  gpu_of(node, 0).modes.mig = true;
  link_of(node, 0, 4).remote_type = 0U;
  EXPECT_THAT(judge(node), ElementsAre(passes()));
}

TEST(TopoNvlinkMatrixTest, SkipsWithoutAnExpectation) {
  EXPECT_THAT(judge(linked_node::node(), gpu_node::profile()), ElementsAre(skips()));
}

}  // namespace
}  // namespace muster::topo_nvlink_matrix_test
