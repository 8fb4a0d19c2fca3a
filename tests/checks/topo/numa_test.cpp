// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checks/catalogue.hpp"
#include "tests/checks/ask.hpp"
#include "tests/checks/topo/topo_node.hpp"
#include "tests/support/printers.hpp"

namespace muster::topo_numa_test {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;

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

TEST(TopoNumaTest, PassesWhenBothSourcesAgreeWithTheProfile) {
  EXPECT_THAT(judge(topo_node::node()), ElementsAre(passes()));
}

TEST(TopoNumaTest, FailsADeviceOnAnotherNode) {
  Snapshot node = topo_node::node();
  topo_node::pci(node, 0).numa_node = 1;
  topo_node::placement(node, 0).numa_nodes = {1};
  EXPECT_THAT(judge(node), ElementsAre(misplaced(1)));
}

TEST(TopoNumaTest, NamesADisagreementOfTheTwoSources) {
  Snapshot node = topo_node::node();
  topo_node::placement(node, 0).numa_nodes = {1};
  EXPECT_THAT(judge(node), ElementsAre(misplaced(1)));
}

TEST(TopoNumaTest, GoesByLocalCpusWhereTheKernelDoesNotKnow) {
  Snapshot node = topo_node::node();
  topo_node::pci(node, 0).numa_node = -1;
  EXPECT_THAT(judge(node), ElementsAre(Field(&Finding::outcome, Outcome::pass)));
  topo_node::placement(node, 0).numa_nodes = {1};
  EXPECT_THAT(judge(node), ElementsAre(misplaced(1)));
}

TEST(TopoNumaTest, DoesNotKnowADeviceWhoseNumaNodeCannotBeRead) {
  Snapshot node = topo_node::node();
  topo_node::pci(node, 0).numa_node = Fact<int>::unreadable("read numa_node: empty");
  EXPECT_THAT(judge(node), ElementsAre(unknown(topo_node::kGpu0)));
}

TEST(TopoNumaTest, DoesNotKnowADeviceThatHwlocDoesNotPlace) {
  Snapshot node = topo_node::node();
  node.topology->devices.erase(node.topology->devices.begin());
  EXPECT_THAT(judge(node), ElementsAre(unknown(topo_node::kGpu0)));
}

TEST(TopoNumaTest, DoesNotKnowADeviceThatNeitherSourcePlaces) {
  Snapshot node = topo_node::node();
  topo_node::pci(node, 0).numa_node = -1;
  topo_node::placement(node, 0).numa_nodes = {0, 1};
  EXPECT_THAT(judge(node), ElementsAre(unknown(topo_node::kGpu0)));
}

TEST(TopoNumaTest, LeavesMissingDevicesToPciDevices) {
  Snapshot node = topo_node::node();
  topo_node::pci(node, 0).responding = false;
  node.pci->devices.pop_back();
  EXPECT_THAT(judge(node), ElementsAre(passes()));
  node.pci->devices.clear();
  EXPECT_THAT(judge(node), ElementsAre(Field(&Finding::outcome, Outcome::skip)));
}

TEST(TopoNumaTest, WarnsOfADisagreementEvenWhereNothingIsExpected) {
  Snapshot node = topo_node::node();
  EXPECT_THAT(judge(node, Profile{}), ElementsAre(Field(&Finding::outcome, Outcome::pass)));
  topo_node::placement(node, 0).numa_nodes = {1};
  EXPECT_THAT(judge(node, Profile{}), ElementsAre(AllOf(Field(&Finding::device, topo_node::kGpu0),
                                                        Field(&Finding::outcome, Outcome::warn))));
}

TEST(TopoNumaTest, DoesNotKnowWithoutTheSections) {
  Snapshot node = topo_node::node();
  node.topology = {.status = Status::absent, .reason = "hwloc is not there"};
  EXPECT_THAT(judge(node), ElementsAre(unknown()));
  EXPECT_THAT(judge(node, Profile{}), ElementsAre(Field(&Finding::outcome, Outcome::skip)));
}

}  // namespace
}  // namespace muster::topo_numa_test
