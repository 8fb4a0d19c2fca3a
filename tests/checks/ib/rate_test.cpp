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

Finding slow(double gbps, std::string message, Remedy remedy = Remedy::report_to_provider) {
  return {.device = "mlx5_ib1",
          .outcome = Outcome::fail,
          .message = std::move(message),
          .observed = gbps,
          .limit = 400.0,
          .unit = "Gb/s",
          .remedy = remedy};
}

TEST(IbRateTest, PassesAtTheExpectedRate) {
  EXPECT_THAT(
      judge(ib_node::node()),
      ElementsAre(Finding{
          .device = "node", .outcome = Outcome::pass, .message = "4 ports at 400 Gb/s (4X NDR)"}));
}

TEST(IbRateTest, NamesLostLanesAsTheCause) {
  Snapshot node = ib_node::node();
  set_rate(ib_node::port_of(node, 1), 200, 2, "NDR");
  EXPECT_THAT(
      judge(node),
      ElementsAre(slow(200, "200 Gb/s (2X NDR), expected 400 Gb/s (4X NDR): half the lanes")));
}

TEST(IbRateTest, NamesSlowLanesAsTheCause) {
  Snapshot node = ib_node::node();
  set_rate(ib_node::port_of(node, 1), 200, 4, "HDR");
  EXPECT_THAT(
      judge(node),
      ElementsAre(slow(200, "200 Gb/s (4X HDR), expected 400 Gb/s (4X NDR): slower lanes")));
}

TEST(IbRateTest, NamesBothCauses) {
  Snapshot node = ib_node::node();
  set_rate(ib_node::port_of(node, 1), 50, 1, "HDR");
  EXPECT_THAT(judge(node),
              ElementsAre(slow(50,
                               "50 Gb/s (1X HDR), expected 400 Gb/s (4X NDR): 1 of 4 lanes, and "
                               "slower ones")));
}

TEST(IbRateTest, FailsTheRightRateOverTooFewLanes) {
  Profile profile = ib_node::profile();
  profile.ib->rate = {
      .expected = BitsPerSecond{200e9}, .width = IbWidth::x4, .speed = IbLaneSpeed::hdr};
  Snapshot node = ib_node::node();
  for (unsigned i = 0; i < 4; ++i) set_rate(ib_node::port_of(node, i), 200, 4, "HDR");
  set_rate(ib_node::port_of(node, 1), 200, 2, "NDR");
  EXPECT_THAT(judge(node, profile),
              ElementsAre(Field(&Finding::message,
                                "200 Gb/s (2X NDR), expected 200 Gb/s (4X HDR): half the lanes")));
}

TEST(IbRateTest, JudgesARateAloneWhereTheProfileKnowsNoLanes) {
  Profile profile = ib_node::profile();
  profile.ib->rate = {.expected = BitsPerSecond{400e9}};
  Snapshot node = ib_node::node();
  set_rate(ib_node::port_of(node, 1), 200, 2, "NDR");
  EXPECT_THAT(judge(node, profile),
              ElementsAre(slow(200, "200 Gb/s (2X NDR), expected 400 Gb/s: too slow")));
}

TEST(IbRateTest, LeavesSdrOpenWhereVerbsDoNotTell) {
  Snapshot node = ib_node::node();
  node.verbs = {.status = Status::absent, .reason = "a foreign root"};
  set_rate(ib_node::port_of(node, 1), 10, 4, "SDR");
  EXPECT_THAT(judge(node),
              ElementsAre(slow(10,
                               "10 Gb/s (4X SDR), expected 400 Gb/s (4X NDR): the driver is too "
                               "old to name the speed, or a real fallback",
                               Remedy::fix_config)));
}

TEST(IbRateTest, TakesAMissingWordForSdr) {
  Snapshot node = ib_node::node();
  node.verbs = {.status = Status::absent, .reason = "a foreign root"};
  set_rate(ib_node::port_of(node, 1), 10, 4, "");
  EXPECT_THAT(judge(node), ElementsAre(Field(&Finding::message, HasSubstr("10 Gb/s (4X SDR)"))));
}

TEST(IbRateTest, WarnsWhenVerbsKnowTheSpeedThatSysfsCannotName) {
  Snapshot node = ib_node::node();
  set_rate(ib_node::port_of(node, 1), 10, 4, "SDR");
  EXPECT_THAT(judge(node),
              ElementsAre(AllOf(
                  Field(&Finding::outcome, Outcome::warn),
                  Field(&Finding::message,
                        "10 Gb/s (4X SDR), expected 400 Gb/s (4X NDR): the driver is too old to "
                        "name the speed, verbs say 4X NDR"),
                  Field(&Finding::remedy, Remedy::fix_config))));
}

TEST(IbRateTest, FailsWhenVerbsSaySdrToo) {
  Snapshot node = ib_node::node();
  set_rate(ib_node::port_of(node, 1), 10, 4, "SDR");
  (*node.verbs->devices.at(1).ports).at(0).active_speed = 1;
  EXPECT_THAT(judge(node),
              ElementsAre(slow(10,
                               "10 Gb/s (4X SDR), expected 400 Gb/s (4X NDR): a real fallback, "
                               "verbs say SDR too")));
}

TEST(IbRateTest, FailsLostLanesThatOnlyVerbsCanName) {
  Snapshot node = ib_node::node();
  set_rate(ib_node::port_of(node, 1), 5, 2, "SDR");
  (*node.verbs->devices.at(1).ports).at(0).width = 2;
  EXPECT_THAT(
      judge(node),
      ElementsAre(AllOf(Field(&Finding::outcome, Outcome::fail),
                        Field(&Finding::message, HasSubstr("verbs say 2X NDR: half the lanes")))));
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
  EXPECT_THAT(judge(node),
              ElementsAre(Finding{.device = "mlx5_ib1",
                                  .outcome = Outcome::unknown,
                                  .message = "the rate is not known: read rate: empty"}));
}

TEST(IbRateTest, SaysWhyTheWidthIsNotKnown) {
  Snapshot node = ib_node::node();
  ib_node::port_of(node, 1).width = Fact<unsigned>::unreadable("read rate: no width");
  EXPECT_THAT(judge(node),
              ElementsAre(Finding{.device = "mlx5_ib1",
                                  .outcome = Outcome::unknown,
                                  .message = "the rate is not known: read rate: no width"}));
}

TEST(IbRateTest, SkipsWhereNoRateIsExpected) {
  Snapshot node = ib_node::node();
  node.infiniband->hcas.resize(1);
  EXPECT_THAT(judge(node, ib_node::no_expectations()),
              ElementsAre(Field(&Finding::message, "no InfiniBand rate expected by this profile")));
}

TEST(IbRateTest, WarnsOfSdrEvenWhereNoRateIsExpected) {
  Snapshot node = ib_node::node();
  set_rate(ib_node::port_of(node, 1), 10, 4, "SDR");
  (*node.verbs->devices.at(1).ports).at(0).active_speed = 1;
  node.infiniband->hcas = {ib_node::hca_of(node, 1)};  // without sisters that tell
  EXPECT_THAT(judge(node, ib_node::no_expectations()),
              ElementsAre(AllOf(Field(&Finding::outcome, Outcome::warn),
                                Field(&Finding::message,
                                      "10 Gb/s (4X SDR): a real fallback, verbs say SDR too"))));
}

}  // namespace
}  // namespace muster::ib_rate_test
