// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checks/catalogue.hpp"
#include "lib/profile/limits/ib.hpp"
#include "tests/checks/ask.hpp"
#include "tests/checks/ib/ib_node.hpp"
#include "tests/support/printers.hpp"

namespace muster::ib_address_test {
namespace {

using ::testing::ElementsAre;
using ::testing::Field;

Findings judge(const Snapshot& snapshot, const Profile& profile = ib_node::profile()) {
  return ask(checks::ib_address::check, snapshot, profile);
}

Expected failed(const std::string& message) {
  return {.device = "mlx5_ib1",
          .outcome = Outcome::fail,
          .observed = message,
          .remedy = Remedy::report_to_provider};
}

TEST(IbAddressTest, PassesWhenEverythingIsAssigned) {
  EXPECT_THAT(judge(ib_node::node()), ElementsAre(passes()));
}

TEST(IbAddressTest, FailsALidThatIsNotAssigned) {
  for (const unsigned lid : {0U, 0xffffU}) {
    Snapshot node = ib_node::node();
    ib_node::port_of(node, 1).lid = lid;
    EXPECT_THAT(judge(node), ElementsAre(failed(fmt::format("LID {:#x}: not assigned", lid))));
  }
}

TEST(IbAddressTest, FailsAMulticastLid) {
  Snapshot node = ib_node::node();
  ib_node::port_of(node, 1).lid = 0xc000U;
  EXPECT_THAT(judge(node), ElementsAre(failed("LID 0xc000 is a multicast address")));
}

TEST(IbAddressTest, FailsWithoutASubnetManager) {
  Snapshot node = ib_node::node();
  ib_node::port_of(node, 1).sm_lid = 0U;
  EXPECT_THAT(judge(node), ElementsAre(failed("no subnet manager is known (SM LID 0)")));
}

TEST(IbAddressTest, ReportsAllFaultsOfOnePortTogether) {
  Snapshot node = ib_node::node();
  ib_node::port_of(node, 1).lid = 0U;
  ib_node::port_of(node, 1).sm_lid = 0U;
  EXPECT_THAT(judge(node), ElementsAre(fails("mlx5_ib1", Remedy::report_to_provider,
                                             {"LID 0x0: not assigned"})));
}

TEST(IbAddressTest, FailsAnEmptyGid) {
  Snapshot node = ib_node::node();
  ib_node::port_of(node, 1).gid0 = std::string("0000:0000:0000:0000:0000:0000:0000:0000");
  EXPECT_THAT(judge(node), ElementsAre(failed("GID 0 is empty")));
}

TEST(IbAddressTest, FailsThePortOfAnotherSubnet) {
  Snapshot node = ib_node::node();
  ib_node::port_of(node, 1).gid0 = std::string("fec0:0000:0000:0001:0015:5dff:fe33:ff00");
  Expected finding =
      failed("subnet prefix fec0:0000:0000:0001, but fe80:0000:0000:0000 on 3 of 4 HCAs");
  finding.observed = std::string("fec0:0000:0000:0001");
  finding.limit = std::string("fe80:0000:0000:0000");
  EXPECT_THAT(judge(node), ElementsAre(finding));
}

TEST(IbAddressTest, AcceptsOneSubnetPerRailIfTheProfileAllowsIt) {
  Profile profile = ib_node::profile();
  profile.ib->address.same_prefix = false;
  Snapshot node = ib_node::node();
  ib_node::port_of(node, 1).gid0 = std::string("fec0:0000:0000:0001:0015:5dff:fe33:ff00");
  EXPECT_THAT(judge(node, profile), ElementsAre(Field(&Finding::outcome, Outcome::pass)));
}

TEST(IbAddressTest, LeavesAPortThatIsNotActiveToIbState) {
  Snapshot node = ib_node::node();
  ib_node::port_of(node, 1).state = 2U;
  ib_node::port_of(node, 1).lid = 0U;
  EXPECT_THAT(judge(node), ElementsAre(Field(&Finding::outcome, Outcome::pass)));
}

TEST(IbAddressTest, DoesNotKnowAnUnreadableLid) {
  Snapshot node = ib_node::node();
  ib_node::port_of(node, 1).lid = Fact<unsigned>::unreadable("read lid: empty");
  EXPECT_THAT(judge(node), ElementsAre(unknown("mlx5_ib1")));
}

}  // namespace
}  // namespace muster::ib_address_test
