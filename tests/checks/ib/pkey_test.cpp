// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checks/catalogue.hpp"
#include "lib/profile/limits/ib.hpp"
#include "tests/checks/ask.hpp"
#include "tests/checks/ib/ib_node.hpp"
#include "tests/support/printers.hpp"

namespace muster::ib_pkey_test {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;

Findings judge(const Snapshot& snapshot, PkeyWanted require = PkeyWanted::non_default_full_member) {
  Profile profile = ib_node::profile();
  profile.ib->pkey.require = require;
  return ask(checks::ib_pkey::check, snapshot, profile);
}

void set_keys(Snapshot& node, unsigned index, std::vector<unsigned> keys) {
  ib_node::port_of(node, index).pkeys = std::move(keys);
}

Expected failed(std::string observed) {
  return {.device = "mlx5_ib1",
          .outcome = Outcome::fail,
          .observed = std::move(observed),
          .remedy = Remedy::report_to_provider};
}

TEST(IbPkeyTest, PassesWithOneKeyOfTheTenantEverywhere) {
  EXPECT_THAT(judge(ib_node::node()), ElementsAre(passes()));
}

TEST(IbPkeyTest, FindsTheKeyAtIndexOneToo) {
  Snapshot node = ib_node::node();
  set_keys(node, 1, {0x7fff, 0x8015});
  EXPECT_THAT(judge(node), ElementsAre(Field(&Finding::outcome, Outcome::pass)));
}

TEST(IbPkeyTest, FailsWithTheLimitedDefaultAlone) {
  Snapshot node = ib_node::node();
  set_keys(node, 1, {0x7fff});
  EXPECT_THAT(judge(node), ElementsAre(failed("0x7fff")));
}

TEST(IbPkeyTest, FailsALimitedMemberOfTheTenant) {
  Snapshot node = ib_node::node();
  set_keys(node, 1, {0x0015, 0x7fff});
  EXPECT_THAT(judge(node), ElementsAre(Field(&Finding::outcome, Outcome::fail)));
}

TEST(IbPkeyTest, IgnoresKeysBeyondIndexOne) {
  Snapshot node = ib_node::node();
  set_keys(node, 1, {0x7fff, 0, 0x8015});
  EXPECT_THAT(judge(node),
              ElementsAre(fails("mlx5_ib1", Remedy::report_to_provider, {"0x7fff, 0x0000"})));
}

TEST(IbPkeyTest, FailsTwoKeysOfTenants) {
  Snapshot node = ib_node::node();
  set_keys(node, 1, {0x8015, 0x8021});
  EXPECT_THAT(judge(node), ElementsAre(failed("0x8015, 0x8021")));
}

TEST(IbPkeyTest, FailsTheHcaWithAnotherKeyThanItsNeighbours) {
  Snapshot node = ib_node::node();
  set_keys(node, 1, {0x8021, 0x7fff});
  Expected finding = failed("0x8021");
  finding.limit = std::string("0x8015");
  EXPECT_THAT(judge(node), ElementsAre(finding));
}

TEST(IbPkeyTest, AcceptsTheDefaultPartitionWhereTheProfileAsksForIt) {
  Snapshot node = ib_node::node();
  for (unsigned i = 0; i < 4; ++i) set_keys(node, i, {0xffff});
  EXPECT_THAT(judge(node, PkeyWanted::default_full_member), ElementsAre(passes()));
  EXPECT_THAT(judge(node), Contains(Field(&Finding::outcome, Outcome::fail)));
}

TEST(IbPkeyTest, FailsAnEmptyTableForAnyRequirement) {
  Snapshot node = ib_node::node();
  set_keys(node, 1, {});
  for (const auto require : {PkeyWanted::any_full_member, PkeyWanted::default_full_member}) {
    EXPECT_THAT(judge(node, require), Contains(Field(&Finding::device, "mlx5_ib1")));
  }
}

TEST(IbPkeyTest, DoesNotKnowUnreadableKeys) {
  Snapshot node = ib_node::node();
  ib_node::port_of(node, 1).pkeys = Fact<std::vector<unsigned>>::unreadable("read pkeys/0: empty");
  EXPECT_THAT(judge(node), ElementsAre(unknown("mlx5_ib1")));
}

}  // namespace
}  // namespace muster::ib_pkey_test
