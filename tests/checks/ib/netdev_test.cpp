// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checks/catalogue.hpp"
#include "tests/checks/ask.hpp"
#include "tests/checks/ib/ib_node.hpp"
#include "tests/support/printers.hpp"

namespace muster::ib_netdev_test {
namespace {

using ::testing::ElementsAre;
using ::testing::Field;

Findings judge(const Snapshot& snapshot) {
  return ask(checks::ib_netdev::check, snapshot, ib_node::profile());
}

Expected warned() {
  return {.device = "mlx5_ib1",
          .outcome = Outcome::warn,
          .limit = std::string("up"),
          .remedy = Remedy::fix_config};
}

TEST(IbNetdevTest, PassesWhenEveryInterfaceIsUp) {
  EXPECT_THAT(judge(ib_node::node()), ElementsAre(passes()));
}

TEST(IbNetdevTest, WarnsOfAnInterfaceThatIsDown) {
  Snapshot node = ib_node::node();
  node.network->interfaces.at(1).operstate = std::string("down");
  Expected finding = warned();
  finding.observed = std::string("down");
  EXPECT_THAT(judge(node), ElementsAre(finding));
}

TEST(IbNetdevTest, WarnsOfAnHcaWithoutAnInterface) {
  Snapshot node = ib_node::node();
  ib_node::hca_of(node, 1).netdevs = Fact<std::vector<std::string>>::absent("no such file");
  EXPECT_THAT(judge(node), ElementsAre(warned()));
}

TEST(IbNetdevTest, GoesByTheCarrierWhereTheDriverKeepsNoState) {
  Snapshot node = ib_node::node();
  node.network->interfaces.at(1).operstate = std::string("unknown");
  EXPECT_THAT(judge(node), ElementsAre(Field(&Finding::outcome, Outcome::pass)));
  node.network->interfaces.at(1).carrier = false;
  EXPECT_THAT(judge(node), ElementsAre(Field(&Finding::outcome, Outcome::warn)));
}

TEST(IbNetdevTest, LeavesAPortThatIsDownToIbState) {
  Snapshot node = ib_node::node();
  node.network->interfaces.at(1).operstate = std::string("down");
  ib_node::port_of(node, 1).state = 1U;
  EXPECT_THAT(judge(node), ElementsAre(Field(&Finding::outcome, Outcome::pass)));
}

TEST(IbNetdevTest, DoesNotKnowWithoutTheListOfInterfaces) {
  Snapshot node = ib_node::node();
  node.network = {.status = Status::absent, .reason = "no /sys/class/net"};
  EXPECT_THAT(judge(node), ElementsAre(Field(&Finding::outcome, Outcome::unknown)));
}

TEST(IbNetdevTest, DoesNotKnowAnUnreadableState) {
  Snapshot node = ib_node::node();
  node.network->interfaces.at(1).operstate = Fact<std::string>::unreadable("read: empty");
  EXPECT_THAT(judge(node), ElementsAre(unknown("mlx5_ib1")));
}

}  // namespace
}  // namespace muster::ib_netdev_test
