// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checks/catalogue.hpp"
#include "tests/checks/ask.hpp"
#include "tests/checks/topo/topo_node.hpp"
#include "tests/support/printers.hpp"

namespace muster::topo_virtual_test {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;

Findings judge(const Snapshot& snapshot, const Profile& profile = topo_node::profile()) {
  return ask(checks::topo_virtual::check, snapshot, profile);
}

TEST(TopoVirtualTest, PassesWithTheProfilesTree) {
  EXPECT_THAT(judge(topo_node::node()), ElementsAre(passes()));
}

TEST(TopoVirtualTest, SkipsWithoutAHypervisor) {
  Snapshot node = topo_node::node();
  node.identity->hypervisor = false;
  EXPECT_THAT(judge(node), ElementsAre(skips()));
}

TEST(TopoVirtualTest, SkipsWhereTheHypervisorShowsBridges) {
  Snapshot node = topo_node::node();
  topo_node::pci(node, 0).upstream = {"0000:10:00.0"};
  EXPECT_THAT(judge(node), ElementsAre(Field(&Finding::outcome, Outcome::skip)));
}

TEST(TopoVirtualTest, SkipsWithoutATree) {
  EXPECT_THAT(judge(topo_node::node(), Profile{}),
              ElementsAre(Field(&Finding::outcome, Outcome::skip)));
}

TEST(TopoVirtualTest, SkipsANodeWithoutDevices) {
  Snapshot node = topo_node::node();
  node.pci->devices.clear();
  EXPECT_THAT(judge(node), ElementsAre(Field(&Finding::outcome, Outcome::skip)));
}

}  // namespace
}  // namespace muster::topo_virtual_test
