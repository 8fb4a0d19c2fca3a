// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checks/catalogue.hpp"
#include "lib/profile/limits/ib.hpp"
#include "tests/checks/ask.hpp"
#include "tests/checks/ib/ib_node.hpp"
#include "tests/support/printers.hpp"

namespace muster::ib_rate_test {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;

Findings judge(const Snapshot& snapshot, const Profile& profile = ib_node::profile()) {
  return ask(checks::ib_rate::check, snapshot, profile);
}

void set_rate(IbPort& port, double gbps, unsigned lanes, const std::string& speed) {
  port.rate_gbps = gbps;
  port.width = lanes;
  port.speed = speed.empty() ? Fact<std::string>::absent("no word") : Fact<std::string>(speed);
}

Expected slow(double gbps, Remedy remedy = Remedy::report_to_provider) {
  return {.device = "mlx5_ib1",
          .outcome = Outcome::fail,
          .observed = gbps,
          .limit = 400.0,
          .unit = "Gb/s",
          .remedy = remedy};
}

TEST(IbRateTest, PassesAtTheExpectedRate) {
  EXPECT_THAT(judge(ib_node::node()), ElementsAre(passes()));
}

TEST(IbRateTest, NamesLostLanesAsTheCause) {
  Snapshot node = ib_node::node();
  set_rate(ib_node::port_of(node, 1), 200, 2, "NDR");
  EXPECT_THAT(judge(node), ElementsAre(slow(200)));
}

TEST(IbRateTest, NamesSlowLanesAsTheCause) {
  Snapshot node = ib_node::node();
  set_rate(ib_node::port_of(node, 1), 200, 4, "HDR");
  EXPECT_THAT(judge(node), ElementsAre(slow(200)));
}

TEST(IbRateTest, NamesBothCauses) {
  Snapshot node = ib_node::node();
  set_rate(ib_node::port_of(node, 1), 50, 1, "HDR");
  EXPECT_THAT(judge(node), ElementsAre(slow(50)));
}

TEST(IbRateTest, FailsTheRightRateOverTooFewLanes) {
  Profile profile = ib_node::profile();
  profile.ib->rate = {
      .expected = BitsPerSecond{200e9}, .width = IbWidth::x4, .speed = IbLaneSpeed::hdr};
  Snapshot node = ib_node::node();
  for (unsigned i = 0; i < 4; ++i) set_rate(ib_node::port_of(node, i), 200, 4, "HDR");
  set_rate(ib_node::port_of(node, 1), 200, 2, "NDR");
  EXPECT_THAT(judge(node, profile),
              ElementsAre(fails("mlx5_ib1", Remedy::report_to_provider, {200.0, 200.0, "Gb/s"})));
}

TEST(IbRateTest, JudgesARateAloneWhereTheProfileKnowsNoLanes) {
  Profile profile = ib_node::profile();
  profile.ib->rate = {.expected = BitsPerSecond{400e9}};
  Snapshot node = ib_node::node();
  set_rate(ib_node::port_of(node, 1), 200, 2, "NDR");
  EXPECT_THAT(judge(node, profile), ElementsAre(slow(200)));
}

TEST(IbRateTest, SdrWithoutVerbsMayBeTheDriver) {
  Snapshot node = ib_node::node();
  node.verbs = {.status = Status::absent, .reason = "a foreign root"};
  set_rate(ib_node::port_of(node, 1), 10, 4, "SDR");
  EXPECT_THAT(judge(node), ElementsAre(slow(10, Remedy::fix_config)));
}

TEST(IbRateTest, TakesAMissingWordForSdr) {
  Snapshot node = ib_node::node();
  node.verbs = {.status = Status::absent, .reason = "a foreign root"};
  set_rate(ib_node::port_of(node, 1), 10, 4, "");
  EXPECT_THAT(judge(node),
              ElementsAre(fails("mlx5_ib1", Remedy::fix_config, {10.0, 400.0, "Gb/s"})));
}

TEST(IbRateTest, WarnsWhenVerbsKnowTheSpeedThatSysfsCannotName) {
  Snapshot node = ib_node::node();
  set_rate(ib_node::port_of(node, 1), 10, 4, "SDR");
  EXPECT_THAT(judge(node), ElementsAre(AllOf(Field(&Finding::outcome, Outcome::warn),
                                             Field(&Finding::remedy, Remedy::fix_config))));
}

TEST(IbRateTest, FailsWhenVerbsSaySdrToo) {
  Snapshot node = ib_node::node();
  set_rate(ib_node::port_of(node, 1), 10, 4, "SDR");
  (*node.verbs->devices.at(1).ports).at(0).active_speed = 1;
  EXPECT_THAT(judge(node), ElementsAre(slow(10)));
}

TEST(IbRateTest, FailsLostLanesThatOnlyVerbsCanName) {
  Snapshot node = ib_node::node();
  set_rate(ib_node::port_of(node, 1), 5, 2, "SDR");
  (*node.verbs->devices.at(1).ports).at(0).width = 2;
  EXPECT_THAT(judge(node), ElementsAre(Field(&Finding::outcome, Outcome::fail)));
}

TEST(IbRateTest, LeavesAPortThatIsDownToIbState) {
  Snapshot node = ib_node::node();
  ib_node::port_of(node, 1).state = 1U;
  set_rate(ib_node::port_of(node, 1), 10, 4, "SDR");
  EXPECT_THAT(judge(node), ElementsAre(Field(&Finding::outcome, Outcome::pass)));
}

TEST(IbRateTest, DoesNotKnowAnUnreadableRate) {
  Snapshot node = ib_node::node();
  ib_node::port_of(node, 1).rate_gbps = Fact<double>::unreadable("read rate: empty");
  EXPECT_THAT(judge(node), ElementsAre(unknown("mlx5_ib1")));
}

TEST(IbRateTest, IsUnknownWithoutTheWidth) {
  Snapshot node = ib_node::node();
  ib_node::port_of(node, 1).width = Fact<unsigned>::unreadable("read rate: no width");
  EXPECT_THAT(judge(node), ElementsAre(unknown("mlx5_ib1")));
}

TEST(IbRateTest, SkipsWhereNoRateIsExpected) {
  Snapshot node = ib_node::node();
  node.infiniband->hcas.resize(1);
  EXPECT_THAT(judge(node, ib_node::no_expectations()), ElementsAre(skips()));
}

TEST(IbRateTest, WarnsOfSdrEvenWhereNoRateIsExpected) {
  Snapshot node = ib_node::node();
  set_rate(ib_node::port_of(node, 1), 10, 4, "SDR");
  (*node.verbs->devices.at(1).ports).at(0).active_speed = 1;
  node.infiniband->hcas = {ib_node::hca_of(node, 1)};  // without sisters that tell
  EXPECT_THAT(judge(node, ib_node::no_expectations()),
              ElementsAre(Field(&Finding::outcome, Outcome::warn)));
}

}  // namespace
}  // namespace muster::ib_rate_test
