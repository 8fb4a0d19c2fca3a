// SPDX-License-Identifier: Apache-2.0

#include "tests/checks/ask.hpp"
#include "tests/checks/topo/topo_node.hpp"

namespace muster::topo_numa_test {
namespace {

Findings judge(const Snapshot& snapshot, const Profile& profile = topo_node::profile()) {
  return ask(checks::topo_numa::check, snapshot, profile);
}

Expected misplaced(std::int64_t observed) {
  return {.device = topo_node::kGpu0,
          .outcome = Outcome::fail,
          .observed = observed,
          .limit = std::int64_t{0},
          .remedy = Remedy::report_to_provider};
}

TEST(TopoNumaTest, JudgesOneChange) {
  expect_findings(
      checks::topo_numa::check, topo_node::node(), topo_node::profile(),
      {
          {"passes when both sources agree with the profile", [](Snapshot&) {}, {passes()}},
          {"fails a device on another node",
           [](Snapshot& node) {
             topo_node::pci(node, 0).numa_node = 1;
             topo_node::placement(node, 0).numa_nodes = {1};
           },
           {misplaced(1)}},
          {"names a disagreement of the two sources",
           [](Snapshot& node) { topo_node::placement(node, 0).numa_nodes = {1}; },
           {misplaced(1)}},
          {"does not know a device whose NUMA node cannot be read",
           [](Snapshot& node) {
             topo_node::pci(node, 0).numa_node = Fact<int>::unreadable("read numa_node: empty");
           },
           {unknown(topo_node::kGpu0)}},
          {"does not know a device that hwloc does not place",
           [](Snapshot& node) { node.topology->devices.erase(node.topology->devices.begin()); },
           {unknown(topo_node::kGpu0)}},
          {"does not know a device that neither source places",
           [](Snapshot& node) {
             topo_node::pci(node, 0).numa_node = -1;
             topo_node::placement(node, 0).numa_nodes = {0, 1};
           },
           {unknown(topo_node::kGpu0)}},
      });
}

TEST(TopoNumaTest, GoesByLocalCpusWhereTheKernelDoesNotKnow) {
  Snapshot node = topo_node::node();
  topo_node::pci(node, 0).numa_node = -1;
  EXPECT_THAT(judge(node), ElementsAre(is(Outcome::pass)));
  topo_node::placement(node, 0).numa_nodes = {1};
  EXPECT_THAT(judge(node), ElementsAre(misplaced(1)));
}

TEST(TopoNumaTest, LeavesMissingDevicesToPciDevices) {
  Snapshot node = topo_node::node();
  topo_node::pci(node, 0).responding = false;
  node.pci->devices.pop_back();
  EXPECT_THAT(judge(node), ElementsAre(passes()));
  node.pci->devices.clear();
  EXPECT_THAT(judge(node), ElementsAre(is(Outcome::skip)));
}

TEST(TopoNumaTest, WarnsOfADisagreementEvenWhereNothingIsExpected) {
  Snapshot node = topo_node::node();
  EXPECT_THAT(judge(node, Profile{}), ElementsAre(is(Outcome::pass)));
  topo_node::placement(node, 0).numa_nodes = {1};
  EXPECT_THAT(judge(node, Profile{}), ElementsAre(is(Outcome::warn, topo_node::kGpu0)));
}

TEST(TopoNumaTest, DoesNotKnowWithoutTheSections) {
  Snapshot node = topo_node::node();
  node.topology = {.status = Status::absent, .reason = "hwloc is not there"};
  EXPECT_THAT(judge(node), ElementsAre(unknown()));
  EXPECT_THAT(judge(node, Profile{}), ElementsAre(is(Outcome::skip)));
}

}  // namespace
}  // namespace muster::topo_numa_test
