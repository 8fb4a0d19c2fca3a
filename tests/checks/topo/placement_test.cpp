// SPDX-License-Identifier: Apache-2.0
// Where devices are: their NUMA nodes, and how close GPUs are to their HCAs.
#include "tests/checks/ask.hpp"
#include "tests/checks/topo/topo_node.hpp"

namespace muster::topo_placement_test {
namespace {

constexpr AskedCheck judge_numa{checks::topo_numa::check, topo_node::profile};

Expected misplaced(std::int64_t observed) {
  return fails(topo_node::kGpu0, Remedy::report_to_provider, {observed, 0});
}

TEST(TopoNumaTest, JudgesEachChange) {
  const std::vector<NodeChange> changes{
      {"does not know a device whose NUMA node cannot be read",
       [](Snapshot& node) { pci_of(node, 0).numa_node = unreadable(); },
       {unknown(topo_node::kGpu0)}},
      {"does not know a device that hwloc does not place",
       [](Snapshot& node) { node.topology->devices.erase(node.topology->devices.begin()); },
       {unknown(topo_node::kGpu0)}},
      {"does not know a device that neither source places",
       [](Snapshot& node) {
         pci_of(node, 0).numa_node = -1;
         placement_of(node, 0).numa_nodes = {0, 1};
       },
       {unknown(topo_node::kGpu0)}},
  };
  expect_findings(judge_numa, topo_node::node(), changes);
}

TEST(TopoNumaTest, GoesByLocalCpusIfTheKernelDoesNotKnow) {
  Snapshot node = topo_node::node();
  pci_of(node, 0).numa_node = -1;
  EXPECT_THAT(judge_numa(node), ElementsAre(is(Outcome::pass)));
  placement_of(node, 0).numa_nodes = {1};
  EXPECT_THAT(judge_numa(node), ElementsAre(misplaced(1)));
}

TEST(TopoNumaTest, LeavesMissingDevicesToPciDevices) {
  Snapshot node = topo_node::node();
  pci_of(node, 0).responding = false;
  node.pci->devices.pop_back();
  EXPECT_THAT(judge_numa(node), ElementsAre(passes()));
  node.pci->devices.clear();
  EXPECT_THAT(judge_numa(node), ElementsAre(is(Outcome::skip)));
}

TEST(TopoNumaTest, WarnsOfADisagreementEvenIfNothingIsExpected) {
  Snapshot node = topo_node::node();
  EXPECT_THAT(judge_numa(node, Profile{}), ElementsAre(is(Outcome::pass)));
  placement_of(node, 0).numa_nodes = {1};
  EXPECT_THAT(judge_numa(node, Profile{}), ElementsAre(is(Outcome::warn, topo_node::kGpu0)));
}

TEST(TopoNumaTest, DoesNotKnowWithoutTheSections) {
  Snapshot node = topo_node::node();
  node.topology = {.status = Status::absent, .reason = "hwloc is not there"};
  EXPECT_THAT(judge_numa(node), ElementsAre(unknown()));
  EXPECT_THAT(judge_numa(node, Profile{}), ElementsAre(is(Outcome::skip)));
}

constexpr AskedCheck judge_pairing{checks::topo_pairing::check, topo_node::profile};

// Two switches, each below its own root port; a GPU and its HCA share one.
Snapshot with_switches() {
  Snapshot node = topo_node::node();
  for (std::size_t i = 0; i < 4; ++i) {
    const std::size_t which = i % 2;
    placement_of(node, i).bridges = {fmt::format("0000:1{}:00.0", which),
                                     fmt::format("0000:2{}:0{}.0", which, i)};
  }
  return node;
}

TEST(TopoPairingTest, FailsAPairOfWhichOneHasNoSwitch) {
  Snapshot node = with_switches();
  placement_of(node, 0).bridges.clear();
  EXPECT_THAT(judge_pairing(node), ElementsAre(is(Outcome::fail)));
}

TEST(TopoPairingTest, FailsAPairAcrossNumaNodes) {
  Snapshot node = topo_node::node();
  pci_of(node, 2).numa_node = 1;
  placement_of(node, 2).numa_nodes = {1};
  for (const auto nearest : {Nearest::same_numa, Nearest::same_switch}) {
    EXPECT_THAT(judge_pairing(node, topo_node::pairs_only(nearest)),
                ElementsAre(fails(topo_node::kGpu0, Remedy::report_to_provider, {1, 0})));
  }
  // topo.numa reports a misplaced device.
  EXPECT_THAT(judge_pairing(node), ElementsAre(is(Outcome::pass)));
}

TEST(TopoPairingTest, LeavesAMissingDeviceToPciDevices) {
  Snapshot node = topo_node::node();
  node.pci->devices.pop_back();
  pci_of(node, 0).responding = false;
  EXPECT_THAT(judge_pairing(node), ElementsAre(is(Outcome::skip)));
}

TEST(TopoPairingTest, DoesNotKnowAPairWithoutNumaNodes) {
  Snapshot node = topo_node::node();
  pci_of(node, 2).numa_node = -1;
  placement_of(node, 2).numa_nodes = {0, 1};
  EXPECT_THAT(judge_pairing(node, topo_node::pairs_only(Nearest::same_numa)),
              ElementsAre(unknown(topo_node::kGpu0)));
}

TEST(TopoPairingTest, SkipsIfNothingIsPaired) {
  EXPECT_THAT(judge_pairing(topo_node::node(), Profile{}), ElementsAre(is(Outcome::skip)));
}

constexpr AskedCheck judge_virtual{checks::topo_virtual::check, topo_node::profile};

TEST(TopoVirtualTest, SkipsNodesWhosePlacementIsVisibleOrUnknown) {
  Snapshot node = topo_node::node();
  EXPECT_THAT(judge_virtual(node, Profile{}), ElementsAre(skips()));
  pci_of(node, 0).upstream = {"0000:10:00.0"};
  EXPECT_THAT(judge_virtual(node), ElementsAre(skips()));
  node.pci->devices.clear();
  EXPECT_THAT(judge_virtual(node), ElementsAre(skips()));
  node = topo_node::node();
  node.identity->hypervisor = false;
  EXPECT_THAT(judge_virtual(node), ElementsAre(skips()));
}

}  // namespace
}  // namespace muster::topo_placement_test
