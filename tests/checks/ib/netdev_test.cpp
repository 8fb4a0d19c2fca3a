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

Finding warned(std::string message) {
  return {.device = "mlx5_ib1",
          .outcome = Outcome::warn,
          .message = std::move(message),
          .limit = std::string("up"),
          .remedy = Remedy::fix_config};
}

TEST(IbNetdevTest, PassesWhenEveryInterfaceIsUp) {
  EXPECT_THAT(judge(ib_node::node()),
              ElementsAre(Finding{.device = "node",
                                  .outcome = Outcome::pass,
                                  .message = "4 HCAs with an interface that is up"}));
}

TEST(IbNetdevTest, WarnsOfAnInterfaceThatIsDown) {
  Snapshot node = ib_node::node();
  node.network->interfaces.at(1).operstate = std::string("down");
  Finding finding = warned("interface ib1 is down");
  finding.observed = std::string("down");
  EXPECT_THAT(judge(node), ElementsAre(finding));
}

TEST(IbNetdevTest, WarnsOfAnHcaWithoutAnInterface) {
  Snapshot node = ib_node::node();
  ib_node::hca_of(node, 1).netdevs = Fact<std::vector<std::string>>::absent("no such file");
  EXPECT_THAT(judge(node),
              ElementsAre(warned(
                  "no network interface: ib_ipoib is not loaded or did not take the device")));
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
  EXPECT_THAT(judge(node),
              ElementsAre(Finding{.device = "mlx5_ib1",
                                  .outcome = Outcome::unknown,
                                  .message = "the state of interface ib1 is not known: read: "
                                             "empty"}));
}

}  // namespace
}  // namespace muster::ib_netdev_test
