// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checks/catalogue.hpp"
#include "tests/checks/ask.hpp"
#include "tests/checks/topo/topo_node.hpp"
#include "tests/support/printers.hpp"

namespace muster::topo_pairing_test {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;

Findings judge(const Snapshot& snapshot, const Profile& profile) {
  return ask(checks::topo_pairing::check, snapshot, profile);
}

// Two switches, each below its own root port; a GPU and its HCA share one.
Snapshot with_switches() {
  Snapshot node = topo_node::node();
  for (std::size_t i = 0; i < 4; ++i) {
    const std::size_t which = i % 2;
    topo_node::placement(node, i).bridges = {fmt::format("0000:1{}:00.0", which),
                                             fmt::format("0000:2{}:0{}.0", which, i)};
  }
  return node;
}

Finding too_far(std::string message) {
  return {.device = topo_node::kGpu0,
          .outcome = Outcome::fail,
          .message = std::move(message),
          .remedy = Remedy::report_to_provider};
}

TEST(TopoPairingTest, PassesPairsBelowOneSwitch) {
  EXPECT_THAT(judge(with_switches(), topo_node::profile()),
              ElementsAre(Finding{.device = "node",
                                  .outcome = Outcome::pass,
                                  .message = "2 pairs of GPU and HCA below the same switch"}));
}

TEST(TopoPairingTest, FailsAPairBelowDifferentSwitches) {
  Snapshot node = with_switches();
  topo_node::placement(node, 0).bridges = {"0000:30:00.0"};
  EXPECT_THAT(
      judge(node, topo_node::profile()),
      ElementsAre(too_far("no PCIe switch in common with its HCA 0101:00:00.0, expected one")));
}

TEST(TopoPairingTest, FailsAPairOfWhichOneHasNoSwitch) {
  Snapshot node = with_switches();
  topo_node::placement(node, 0).bridges.clear();
  EXPECT_THAT(judge(node, topo_node::profile()),
              ElementsAre(Field(&Finding::outcome, Outcome::fail)));
}

TEST(TopoPairingTest, JudgesTheNumaNodeWhereSwitchesAreHiddenAndSaysSo) {
  EXPECT_THAT(judge(topo_node::node(), topo_node::profile()),
              ElementsAre(Finding{.device = "node",
                                  .outcome = Outcome::pass,
                                  .message = "2 pairs of GPU and HCA on the same NUMA node; PCIe "
                                             "switches cannot be seen here, so whether they share "
                                             "one is not judged"}));
}

TEST(TopoPairingTest, FailsAPairAcrossNumaNodes) {
  Snapshot node = topo_node::node();
  topo_node::pci(node, 2).numa_node = 1;
  topo_node::placement(node, 2).numa_nodes = {1};
  Finding finding = too_far("on NUMA node 0, its HCA 0101:00:00.0 on 1, expected the same");
  finding.observed = std::int64_t{1};
  finding.limit = std::int64_t{0};
  for (const auto nearest : {Nearest::same_numa, Nearest::same_switch}) {
    EXPECT_THAT(judge(node, topo_node::pairs_only(nearest)), ElementsAre(finding));
  }
}

TEST(TopoPairingTest, LeavesAMisplacedDeviceToTopoNuma) {
  Snapshot node = topo_node::node();
  topo_node::pci(node, 2).numa_node = 1;
  topo_node::placement(node, 2).numa_nodes = {1};
  EXPECT_THAT(judge(node, topo_node::profile()),
              ElementsAre(AllOf(Field(&Finding::outcome, Outcome::pass),
                                Field(&Finding::message, HasSubstr("1 left out")))));
}

TEST(TopoPairingTest, LeavesAMissingDeviceToPciDevices) {
  Snapshot node = topo_node::node();
  node.pci->devices.pop_back();
  topo_node::pci(node, 0).responding = false;
  EXPECT_THAT(judge(node, topo_node::profile()),
              ElementsAre(Field(&Finding::outcome, Outcome::skip)));
}

TEST(TopoPairingTest, DoesNotKnowAPairWithoutNumaNodes) {
  Snapshot node = topo_node::node();
  topo_node::pci(node, 2).numa_node = -1;
  topo_node::placement(node, 2).numa_nodes = {0, 1};
  EXPECT_THAT(
      judge(node, topo_node::pairs_only(Nearest::same_numa)),
      ElementsAre(Finding{.device = topo_node::kGpu0,
                          .outcome = Outcome::unknown,
                          .message = "the NUMA node of its HCA 0101:00:00.0 is not known"}));
}

TEST(TopoPairingTest, SkipsWhereNothingIsPaired) {
  EXPECT_THAT(judge(topo_node::node(), Profile{}),
              ElementsAre(Field(&Finding::outcome, Outcome::skip)));
}

}  // namespace
}  // namespace muster::topo_pairing_test
