// SPDX-License-Identifier: Apache-2.0
// The state and the speed of links.
#include "tests/checks/ask.hpp"
#include "tests/checks/ib/ib_node.hpp"

namespace muster::ib_links_test {
namespace {

constexpr AskedCheck judge_rate{checks::ib_rate::check, ib_node::profile};

void set_rate(IbPort& port, double gbps, unsigned lanes, const std::string& speed) {
  port.rate_gbps = gbps;
  port.width = lanes;
  port.speed = speed.empty() ? Fact<std::string>::absent("no word") : Fact<std::string>(speed);
}

Expected slow(double gbps, Remedy remedy = Remedy::report_to_provider) {
  return fails("mlx5_ib1", remedy, {gbps, 400.0, "Gb/s"});
}

TEST(IbRateTest, JudgesEachChange) {
  const std::vector<NodeChange> changes{
      {"names both causes",
       [](Snapshot& node) { set_rate(port_of(node, 1), 50, 1, "HDR"); },
       {slow(50)}},
      {"takes a missing word for SDR",
       [](Snapshot& node) {
         node.verbs = {.status = Status::absent, .reason = "a foreign root"};
         set_rate(port_of(node, 1), 10, 4, "");
       },
       {slow(10, Remedy::fix_config)}},
      {"fails when verbs say SDR too",
       [](Snapshot& node) {
         set_rate(port_of(node, 1), 10, 4, "SDR");
         (*node.verbs->devices.at(1).ports).at(0).active_speed = 1;
       },
       {slow(10)}},
      {"does not know an unreadable rate",
       [](Snapshot& node) { port_of(node, 1).rate_gbps = unreadable(); },
       {unknown("mlx5_ib1")}},
      {"is unknown without the width",
       [](Snapshot& node) { port_of(node, 1).width = unreadable(); },
       {unknown("mlx5_ib1")}},
  };
  expect_findings(judge_rate, ib_node::node(), changes);
}

TEST(IbRateTest, AnUnknownWordForTheSpeedIsUnknownIfASpeedIsExpected) {
  Snapshot node = ib_node::node();
  set_rate(port_of(node, 1), 400, 4, "FOO");
  EXPECT_THAT(judge_rate(node), ElementsAre(unknown("mlx5_ib1")));
  EXPECT_THAT(judge_rate(node, Profile{}), ElementsAre(unknown("mlx5_ib1")))
      << "expected because most HCAs have it";
  Profile rate_alone;
  rate_alone.ib->rate = {.expected = BitsPerSecond{400e9}};
  EXPECT_THAT(judge_rate(node, rate_alone), ElementsAre(passes()));
  set_rate(port_of(node, 1), 200, 2, "FOO");
  EXPECT_THAT(judge_rate(node), ElementsAre(slow(200))) << "lanes are missing, at any speed";
}

TEST(IbRateTest, FailsTheRightRateOverTooFewLanes) {
  Profile profile = ib_node::profile();
  profile.ib->rate = {
      .expected = BitsPerSecond{200e9}, .width = IbWidth::x4, .speed = IbLaneSpeed::hdr};
  Snapshot node = ib_node::node();
  for (unsigned i = 0; i < 4; ++i) set_rate(port_of(node, i), 200, 4, "HDR");
  set_rate(port_of(node, 1), 200, 2, "NDR");
  EXPECT_THAT(judge_rate(node, profile),
              ElementsAre(fails("mlx5_ib1", Remedy::report_to_provider, {200.0, 200.0, "Gb/s"})));
}

TEST(IbRateTest, JudgesARateAloneIfTheProfileKnowsNoLanes) {
  Profile profile = ib_node::profile();
  profile.ib->rate = {.expected = BitsPerSecond{400e9}};
  Snapshot node = ib_node::node();
  set_rate(port_of(node, 1), 200, 2, "NDR");
  EXPECT_THAT(judge_rate(node, profile), ElementsAre(slow(200)));
}

TEST(IbRateTest, WarnsWhenVerbsKnowTheSpeedThatSysfsCannotName) {
  Snapshot node = ib_node::node();
  set_rate(port_of(node, 1), 10, 4, "SDR");
  EXPECT_THAT(judge_rate(node),
              ElementsAre(warns("mlx5_ib1", Remedy::fix_config, {10.0, 400.0, "Gb/s"})));
}

TEST(IbRateTest, FailsLostLanesThatOnlyVerbsCanName) {
  Snapshot node = ib_node::node();
  set_rate(port_of(node, 1), 5, 2, "SDR");
  (*node.verbs->devices.at(1).ports).at(0).width = 2;
  EXPECT_THAT(judge_rate(node), ElementsAre(is(Outcome::fail)));
}

TEST(IbRateTest, WithoutAnExpectationAndPeersOnlySdrWarns) {
  Snapshot node = ib_node::node();
  node.infiniband->hcas = {hca_of(node, 1)};
  EXPECT_THAT(judge_rate(node, Profile{}), ElementsAre(skips()));
  set_rate(port_of(node, 0), 10, 4, "SDR");
  (*node.verbs->devices.at(1).ports).at(0).active_speed = 1;
  EXPECT_THAT(judge_rate(node, Profile{}), ElementsAre(is(Outcome::warn)));
}

constexpr AskedCheck judge_state{checks::ib_state::check, ib_node::profile};

TEST(IbStateTest, JudgesEachChange) {
  const std::vector<NodeChange> changes{
      {"fails an active port that is retraining",
       [](Snapshot& node) {
         node.identity->hypervisor = false;
         port_of(node, 0).physical_state = 6U;
       },
       {fails("mlx5_ib0", Remedy::reseat_or_replace, {"LinkErrorRecovery", "LinkUp"})}},
      {"does not know an unreadable state",
       [](Snapshot& node) { port_of(node, 0).state = unreadable(); },
       {unknown("mlx5_ib0")}},
      {"leaves out a network that the kernel has no word for",
       [](Snapshot& node) { port_of(node, 0).link_layer = "Unknown"; },
       {passes()}},
      {"does not know a port whose link layer cannot be read",
       [](Snapshot& node) { port_of(node, 0).link_layer.clear(); },
       {unknown("mlx5_ib0")}},
      {"does not know an HCA without readable ports",
       [](Snapshot& node) { hca_of(node, 0).ports = absent(); },
       {unknown("mlx5_ib0")}},
      {"ignores ethernet",
       [](Snapshot& node) {
         Hca an = ib_node::ethernet_hca();
         an.ports->front().state = 1U;
         node.infiniband->hcas.push_back(an);
       },
       {passes()}},
      {"skips when the HCAs are gone",
       [](Snapshot& node) { node.infiniband->hcas.clear(); },
       {skips()}},
  };
  expect_findings(judge_state, ib_node::node(), changes);
}

TEST(IbStateTest, JudgesWithoutAnyExpectationToo) {
  Snapshot node = ib_node::node();
  port_of(node, 1).state = 1U;
  EXPECT_THAT(judge_state(node, Profile{}), ElementsAre(is(Outcome::fail)));
}

TEST(IbStateTest, CallsArmedTransient) {
  Snapshot node = ib_node::node();
  port_of(node, 0).state = 3U;
  EXPECT_THAT(judge_state(node),
              ElementsAre(fails("mlx5_ib0", Remedy::watch, {"ARMED", "ACTIVE"})));
}

TEST(IbStateTest, NamesThePortIfItIsNotTheFirst) {
  Snapshot node = ib_node::node();
  IbPort second = ib_node::port();
  second.number = 2;
  second.state = 1U;
  hca_of(node, 0).ports->push_back(second);
  EXPECT_THAT(judge_state(node), ElementsAre(is(Outcome::fail, "mlx5_ib0")));
}

}  // namespace
}  // namespace muster::ib_links_test
