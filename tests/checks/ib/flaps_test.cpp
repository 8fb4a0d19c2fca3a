// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checks/catalogue.hpp"
#include "tests/checks/ask.hpp"
#include "tests/checks/ib/ib_node.hpp"
#include "tests/support/printers.hpp"

namespace muster::ib_flaps_test {
namespace {

using ::testing::ElementsAre;
using ::testing::Field;

constexpr auto kKey = "ib.mlx5_ib1.1.link_downed";
constexpr auto kInterfaceKey = "net.ib1.carrier_down_count";

Findings judge(const Snapshot& snapshot, const Profile& profile = ib_node::profile()) {
  return ask(checks::ib_flaps::check, snapshot, profile);
}

Fact<std::uint64_t>& counter(Snapshot& node) {
  return ib_node::port_of(node, 1).counters.at("link_downed");
}

Expected flapped(std::int64_t times) {
  return {.device = "mlx5_ib1",
          .outcome = Outcome::fail,
          .observed = times,
          .limit = std::int64_t{4},
          .remedy = Remedy::report_to_provider};
}

KernelRecord link_down(double uptime_s, unsigned facility = 0) {
  return {.time_us = static_cast<std::uint64_t>(uptime_s * 1e6),
          .level = 4,
          .facility = facility,
          .text = "mlx5_core 0102:00:00.0 mlx5_ib1: Port: 1 Link DOWN"};
}

TEST(IbFlapsTest, PassesALinkThatStayedUp) {
  Snapshot node = ib_node::node();
  ib_node::seen_before(node, kKey, 0);
  EXPECT_THAT(judge(node), ElementsAre(passes()));
}

TEST(IbFlapsTest, AllowsTheNumberInTheProfile) {
  Snapshot node = ib_node::node();
  ib_node::seen_before(node, kKey, 0);
  counter(node) = std::uint64_t{4};
  EXPECT_THAT(judge(node), ElementsAre(Field(&Finding::outcome, Outcome::pass)));
}

TEST(IbFlapsTest, FailsALinkThatWentDownTooOften) {
  Snapshot node = ib_node::node();
  ib_node::seen_before(node, kKey, 0);
  counter(node) = std::uint64_t{5};
  EXPECT_THAT(judge(node), ElementsAre(flapped(5)));
}

TEST(IbFlapsTest, AWindowMayBeShorterThanAnHour) {
  Profile profile = ib_node::profile();
  profile.ib->flaps.window = Seconds{1800};
  Snapshot node = ib_node::node();
  node.earlier.last_uptime_s = ib_node::kUptime - 600;
  node.earlier.counters[kKey] = {{.uptime_s = ib_node::kUptime - 600, .value = 0}};
  counter(node) = std::uint64_t{4};
  EXPECT_THAT(judge(node, profile), ElementsAre(Field(&Finding::outcome, Outcome::pass)));
  counter(node) = std::uint64_t{5};
  EXPECT_THAT(judge(node, profile),
              ElementsAre(fails("mlx5_ib1", Remedy::report_to_provider, {5, 4})));
}

// A node whose last run was three days ago.
Snapshot seldom_inspected() {
  Snapshot node = ib_node::node();
  node.identity.facts.uptime_s = 4 * ib_node::kUptime;
  node.earlier.last_uptime_s = ib_node::kUptime;
  node.earlier.counters[kKey] = {{.uptime_s = ib_node::kUptime, .value = 0}};
  return node;
}

// The time of an increment between two runs is unknown.
TEST(IbFlapsTest, JudgesARiseSinceALongTimeByThatTime) {
  Snapshot node = seldom_inspected();
  counter(node) = std::uint64_t{12};
  EXPECT_THAT(judge(node), ElementsAre(Field(&Finding::outcome, Outcome::pass)));
  counter(node) = std::uint64_t{13};
  EXPECT_THAT(judge(node), ElementsAre(fails("mlx5_ib1", Remedy::report_to_provider, {13, 4})));
}

// The kernel's lines have their times.
TEST(IbFlapsTest, AfterALongTimeTheKernelLogShowsRecentFlaps) {
  Snapshot node = seldom_inspected();
  counter(node) = std::uint64_t{5};
  for (int i = 0; i < 5; ++i) {
    node.kernel_log->records.push_back(link_down(4 * ib_node::kUptime - 3600 + i * 600));
  }
  EXPECT_THAT(judge(node), ElementsAre(flapped(5)));
}

// Some drivers write the address alone.
TEST(IbFlapsTest, KnowsAnAdapterByItsAddress) {
  Snapshot node = ib_node::node();
  for (int i = 0; i < 5; ++i) {
    node.kernel_log->records.push_back(link_down(50000 + i * 600));
    node.kernel_log->records.back().text = "mlx5_core 0102:00:00.0: Port: 1 Link DOWN";
  }
  EXPECT_THAT(judge(node), ElementsAre(::testing::AllOf(Field(&Finding::device, "mlx5_ib1"),
                                                        Field(&Finding::outcome, Outcome::fail))));
}

TEST(IbFlapsTest, BelievesThePortsCounterMoreThanItsInterface) {
  Snapshot node = ib_node::node();
  ib_node::seen_before(node, kKey, 0);
  ib_node::seen_before(node, kInterfaceKey, 1);
  node.network->interfaces.at(1).carrier_down_count = std::uint64_t{10};
  EXPECT_THAT(judge(node), ElementsAre(Field(&Finding::outcome, Outcome::pass)));
}

TEST(IbFlapsTest, BelievesTheInterfaceOfAVirtualFunctionWhoseCounterShowsZero) {
  Snapshot node = ib_node::node();
  ib_node::hca_of(node, 1).virtual_function = true;
  ib_node::seen_before(node, kKey, 0);
  ib_node::seen_before(node, kInterfaceKey, 1);
  node.network->interfaces.at(1).carrier_down_count = std::uint64_t{10};
  EXPECT_THAT(judge(node), ElementsAre(flapped(9)));
}

TEST(IbFlapsTest, BelievesTheInterfaceWhereTheCounterIsRefused) {
  Snapshot node = ib_node::node();
  ib_node::hca_of(node, 1).virtual_function = true;
  counter(node) = Fact<std::uint64_t>::absent("refused to a virtual function");
  ib_node::seen_before(node, kInterfaceKey, 1);
  EXPECT_THAT(judge(node), ElementsAre(Field(&Finding::outcome, Outcome::pass)));
}

TEST(IbFlapsTest, CountsTheKernelsOwnLinesEvenOnAFirstRun) {
  Snapshot node = ib_node::node();
  for (int i = 0; i < 5; ++i) node.kernel_log->records.push_back(link_down(50000 + i * 600));
  EXPECT_THAT(judge(node), ElementsAre(flapped(5)));
}

TEST(IbFlapsTest, IgnoresLinesThatUserSpaceWrote) {
  Snapshot node = ib_node::node();
  for (int i = 0; i < 5; ++i) node.kernel_log->records.push_back(link_down(50000 + i * 600, 1));
  EXPECT_THAT(judge(node), ElementsAre(Field(&Finding::outcome, Outcome::skip)));
}

TEST(IbFlapsTest, IgnoresEventsSoonAfterBoot) {
  Snapshot node = ib_node::node();
  for (int i = 0; i < 5; ++i) node.kernel_log->records.push_back(link_down(60 + i * 60));
  EXPECT_THAT(judge(node), ElementsAre(Field(&Finding::outcome, Outcome::skip)));
}

TEST(IbFlapsTest, LeavesAPortThatIsDownNowToIbState) {
  Snapshot node = ib_node::node();
  ib_node::seen_before(node, kKey, 0);
  counter(node) = std::uint64_t{9};
  ib_node::port_of(node, 1).state = 1U;
  EXPECT_THAT(judge(node), ElementsAre(Field(&Finding::outcome, Outcome::skip)));
}

TEST(IbFlapsTest, KnowsNothingOfASaturatedCounterAtOnce) {
  Snapshot node = ib_node::node();
  counter(node) = std::uint64_t{255};
  EXPECT_THAT(judge(node), ElementsAre(unknown("mlx5_ib1")));
}

TEST(IbFlapsTest, DoesNotKnowAnUnreadableCounter) {
  Snapshot node = ib_node::node();
  counter(node) = Fact<std::uint64_t>::unreadable("read link_downed: empty");
  EXPECT_THAT(judge(node), ElementsAre(unknown("mlx5_ib1")));
}

TEST(IbFlapsTest, SkipsTheFirstObservation) {
  EXPECT_THAT(judge(ib_node::node()), ElementsAre(skips()));
}

}  // namespace
}  // namespace muster::ib_flaps_test
