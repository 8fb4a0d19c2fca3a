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
  EXPECT_THAT(judge(ib_node::node()), ElementsAre(passes()));
}

TEST(IbMtuTest, WarnsOfASmallerMtu) {
  Snapshot node = ib_node::node();
  (*node.verbs->devices.at(1).ports).at(0).active_mtu_bytes = 2048;
  EXPECT_THAT(judge(node), ElementsAre(warns("mlx5_ib1", Remedy::fix_config,
                                             {std::int64_t{2048}, std::int64_t{4096}, "B"})));
}

TEST(IbMtuTest, DoesNotKnowAnMtuWithoutMeaning) {
  Snapshot node = ib_node::node();
  (*node.verbs->devices.at(1).ports).at(0).active_mtu_bytes = 0;
  EXPECT_THAT(judge(node), ElementsAre(Field(&Finding::outcome, Outcome::unknown)));
}

TEST(IbMtuTest, SkipsWithTheReasonWhereVerbsCannotBeAsked) {
  Snapshot node = ib_node::node();
  node.verbs = {.status = Status::absent, .reason = "a foreign root"};
  EXPECT_THAT(judge(node), ElementsAre(skips()));
}

TEST(IbMtuTest, SkipsWhereNoMtuIsExpected) {
  EXPECT_THAT(judge(ib_node::node(), ib_node::no_expectations()), ElementsAre(skips()));
}

TEST(IbMtuTest, LeavesDevicesThatVerbsDoNotOpenToIbVerbs) {
  Snapshot node = ib_node::node();
  node.verbs->devices.clear();
  EXPECT_THAT(judge(node), ElementsAre(Field(&Finding::outcome, Outcome::skip)));
}

}  // namespace
}  // namespace muster::ib_mtu_test
