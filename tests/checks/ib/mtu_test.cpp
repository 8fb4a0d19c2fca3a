// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checks/catalogue.hpp"
#include "tests/checks/ask.hpp"
#include "tests/checks/ib/ib_node.hpp"
#include "tests/support/printers.hpp"

namespace muster::ib_mtu_test {
namespace {

using ::testing::ElementsAre;
using ::testing::Field;

Findings judge(const Snapshot& snapshot, const Profile& profile = ib_node::profile()) {
  return ask(checks::ib_mtu::check, snapshot, profile);
}

TEST(IbMtuTest, PassesAtTheExpectedMtu) {
  EXPECT_THAT(judge(ib_node::node()),
              ElementsAre(Finding{.device = "node",
                                  .outcome = Outcome::pass,
                                  .message = "4 ports with an MTU of 4096 bytes"}));
}

TEST(IbMtuTest, WarnsOfASmallerMtu) {
  Snapshot node = ib_node::node();
  (*node.verbs->devices.at(1).ports).at(0).active_mtu_bytes = 2048;
  EXPECT_THAT(judge(node), ElementsAre(Finding{.device = "mlx5_ib1",
                                               .outcome = Outcome::warn,
                                               .message = "active MTU 2048 bytes, expected 4096",
                                               .observed = std::int64_t{2048},
                                               .limit = std::int64_t{4096},
                                               .unit = "B",
                                               .remedy = Remedy::fix_config}));
}

TEST(IbMtuTest, DoesNotKnowAnMtuWithoutMeaning) {
  Snapshot node = ib_node::node();
  (*node.verbs->devices.at(1).ports).at(0).active_mtu_bytes = 0;
  EXPECT_THAT(judge(node), ElementsAre(Field(&Finding::outcome, Outcome::unknown)));
}

TEST(IbMtuTest, SkipsWithTheReasonWhereVerbsCannotBeAsked) {
  Snapshot node = ib_node::node();
  node.verbs = {.status = Status::absent, .reason = "a foreign root"};
  EXPECT_THAT(judge(node),
              ElementsAre(Finding{
                  .device = "node", .outcome = Outcome::skip, .message = "a foreign root"}));
}

TEST(IbMtuTest, SkipsWhereNoMtuIsExpected) {
  EXPECT_THAT(judge(ib_node::node(), ib_node::no_expectations()),
              ElementsAre(Field(&Finding::message, "no InfiniBand MTU expected by this profile")));
}

TEST(IbMtuTest, LeavesDevicesThatVerbsDoNotOpenToIbVerbs) {
  Snapshot node = ib_node::node();
  node.verbs->devices.clear();
  EXPECT_THAT(judge(node), ElementsAre(Field(&Finding::outcome, Outcome::skip)));
}

}  // namespace
}  // namespace muster::ib_mtu_test
