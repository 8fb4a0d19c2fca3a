// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checks/catalogue.hpp"
#include "lib/profile/limits/ib.hpp"
#include "tests/checks/ask.hpp"
#include "tests/checks/ib/ib_node.hpp"
#include "tests/support/printers.hpp"

namespace muster::ib_errors_test {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Field;

constexpr auto kKey = "ib.mlx5_ib1.1.symbol_error";

Findings judge(const Snapshot& snapshot, const Profile& profile = ib_node::profile()) {
  return ask(checks::ib_errors::check, snapshot, profile);
}

Fact<std::uint64_t>& counter(Snapshot& node, unsigned index) {
  return ib_node::port_of(node, index).counters.at("symbol_error");
}

Expected rose(Outcome outcome, double per_hour, double limit, Remedy remedy) {
  return {.device = "mlx5_ib1",
          .outcome = outcome,
          .observed = per_hour,
          .limit = limit,
          .unit = "per hour",
          .remedy = remedy};
}

TEST(IbErrorsTest, PassesCountersThatDoNotRise) {
  Snapshot node = ib_node::node();
  ib_node::seen_before(node, kKey, 0);
  EXPECT_THAT(judge(node), ElementsAre(passes()));
}

TEST(IbErrorsTest, WarnsOfARateAboveTheLowerLimit) {
  Snapshot node = ib_node::node();
  ib_node::seen_before(node, kKey, 0);
  counter(node, 1) = std::uint64_t{40};
  EXPECT_THAT(judge(node), ElementsAre(rose(Outcome::warn, 40, 10, Remedy::watch)));
}

TEST(IbErrorsTest, FailsARateAboveTheUpperLimit) {
  Snapshot node = ib_node::node();
  ib_node::seen_before(node, kKey, 0);
  counter(node, 1) = std::uint64_t{40000};
  EXPECT_THAT(judge(node),
              ElementsAre(rose(Outcome::fail, 40000, 1000, Remedy::report_to_provider)));
}

TEST(IbErrorsTest, IgnoresALifetimeTotalThatDoesNotRise) {
  Snapshot node = ib_node::node();
  ib_node::seen_before(node, kKey, 40000);
  counter(node, 1) = std::uint64_t{40000};
  EXPECT_THAT(judge(node), ElementsAre(Field(&Finding::outcome, Outcome::pass)));
}

TEST(IbErrorsTest, SkipsTheFirstObservation) {
  EXPECT_THAT(judge(ib_node::node()), ElementsAre(skips()));
}

TEST(IbErrorsTest, DoesNotSubtractFromAClearedCounter) {
  Snapshot node = ib_node::node();
  ib_node::seen_before(node, kKey, 500);
  counter(node, 1) = std::uint64_t{3};
  EXPECT_THAT(judge(node), ElementsAre(Field(&Finding::outcome, Outcome::skip)));
}

TEST(IbErrorsTest, KnowsNothingOfASaturatedCounterAtOnce) {
  Snapshot node = ib_node::node();
  counter(node, 1) = std::uint64_t{65535};
  EXPECT_THAT(judge(node), ElementsAre(Expected{.device = "mlx5_ib1",
                                                .outcome = Outcome::unknown,
                                                .observed = std::int64_t{65535}}));
}

TEST(IbErrorsTest, KnowsThatFourBitCountersEndAtFifteen) {
  Profile profile = ib_node::profile();
  profile.ib->errors.counters = {{"local_link_integrity_errors", {.fail_above_per_hour = 0}}};
  Snapshot node = ib_node::node();
  for (unsigned i = 0; i < 4; ++i) {
    ib_node::port_of(node, i).counters["local_link_integrity_errors"] =
        std::uint64_t{i == 1 ? 15U : 0U};
  }
  EXPECT_THAT(judge(node, profile), ElementsAre(AllOf(Field(&Finding::device, "mlx5_ib1"),
                                                      Field(&Finding::outcome, Outcome::unknown))));
}

TEST(IbErrorsTest, PointsToPartitionKeysForConstraintErrors) {
  Profile profile = ib_node::profile();
  profile.ib->errors.counters = {{"port_rcv_constraint_errors", {.warn_above_per_hour = 0}}};
  Snapshot node = ib_node::node();
  for (unsigned i = 0; i < 4; ++i) {
    ib_node::port_of(node, i).counters["port_rcv_constraint_errors"] = std::uint64_t{1};
  }
  ib_node::seen_before(node, "ib.mlx5_ib1.1.port_rcv_constraint_errors", 0);
  EXPECT_THAT(judge(node, profile),
              ElementsAre(AllOf(Field(&Finding::outcome, Outcome::warn),
                                Field(&Finding::remedy, Remedy::fix_config))));
}

TEST(IbErrorsTest, DoesNotKnowAnUnreadableCounter) {
  Snapshot node = ib_node::node();
  counter(node, 1) = Fact<std::uint64_t>::unreadable("got \"N/A (no PMA)\"");
  EXPECT_THAT(judge(node), ElementsAre(unknown("mlx5_ib1")));
}

TEST(IbErrorsTest, DoesNotKnowACounterThatIsNotThere) {
  Snapshot node = ib_node::node();
  ib_node::port_of(node, 1).counters.erase("symbol_error");
  EXPECT_THAT(judge(node), ElementsAre(unknown("mlx5_ib1")));
}

TEST(IbErrorsTest, SkipsWhereVirtualFunctionsAreRefusedTheWholeRegister) {
  Snapshot node = ib_node::node();
  for (unsigned i = 0; i < 4; ++i) {
    ib_node::hca_of(node, i).virtual_function = true;
    counter(node, i) = Fact<std::uint64_t>::absent("refused to a virtual function");
  }
  EXPECT_THAT(judge(node), ElementsAre(skips()));
}

TEST(IbErrorsTest, DoesNotTakeOneRefusedCounterForAVirtualFunctionsNature) {
  Profile profile = ib_node::profile();
  profile.ib->errors.counters["port_rcv_errors"] = {.warn_above_per_hour = 10};
  Snapshot node = ib_node::node();
  for (unsigned i = 0; i < 4; ++i) {
    ib_node::hca_of(node, i).virtual_function = true;
    ib_node::port_of(node, i).counters["port_rcv_errors"] = std::uint64_t{0};
  }
  counter(node, 1) = Fact<std::uint64_t>::absent("refused to a virtual function");
  EXPECT_THAT(judge(node, profile), ElementsAre(AllOf(Field(&Finding::device, "mlx5_ib1"),
                                                      Field(&Finding::outcome, Outcome::unknown))));
}

TEST(IbErrorsTest, PassesZerosOfAVirtualFunction) {
  Snapshot node = ib_node::node();
  for (unsigned i = 0; i < 4; ++i) {
    ib_node::hca_of(node, i).virtual_function = true;
    ib_node::seen_before(node, fmt::format("ib.mlx5_ib{}.1.symbol_error", i), 0);
  }
  EXPECT_THAT(judge(node), ElementsAre(passes()));
}

TEST(IbErrorsTest, DoesNotKnowRatesWithoutAClock) {
  Snapshot node = ib_node::node();
  node.identity->uptime_s = Fact<double>::unreadable("read /proc/uptime: empty");
  EXPECT_THAT(judge(node), ElementsAre(Field(&Finding::outcome, Outcome::unknown)));
}

TEST(IbErrorsTest, LeavesAPortThatIsDownToIbState) {
  Snapshot node = ib_node::node();
  ib_node::seen_before(node, kKey, 0);
  counter(node, 1) = std::uint64_t{40000};
  ib_node::port_of(node, 1).state = 1U;
  EXPECT_THAT(judge(node), ElementsAre(Field(&Finding::outcome, Outcome::skip)));
}

TEST(IbErrorsTest, SeesABurstOfTheLastHourThatTheWindowAveragesAway) {
  Snapshot node = ib_node::node();
  node.earlier.last_uptime_s = ib_node::kUptime - 600;
  node.earlier.counters[kKey] = {{.uptime_s = 600, .value = 0}};
  counter(node, 1) = std::uint64_t{40};
  EXPECT_THAT(judge(node), ElementsAre(rose(Outcome::warn, 40, 10, Remedy::watch)));
}

TEST(IbErrorsTest, TakesARiseSinceTheLastRunForThatTimesRise) {
  Snapshot node = ib_node::node();
  node.earlier.last_uptime_s = ib_node::kUptime - 10 * 3600;
  node.earlier.counters[kKey] = {{.uptime_s = 600, .value = 0}};
  counter(node, 1) = std::uint64_t{40};
  EXPECT_THAT(judge(node), ElementsAre(Field(&Finding::outcome, Outcome::pass)));
}

// Twenty recoveries in a day, one an hour or so: no rate shows them.
TEST(IbErrorsTest, CountsWithinATimeOfItsOwn) {
  Profile profile = ib_node::profile();
  profile.ib->errors.counters = {{"link_error_recovery",
                                  {.warn_above = 3,
                                   .fail_above = 10,
                                   .warn_within = Seconds{3 * 3600.0},
                                   .fail_within = Seconds{24 * 3600.0}}}};
  Snapshot node = ib_node::node();
  for (unsigned i = 0; i < 4; ++i) {
    ib_node::port_of(node, i).counters["link_error_recovery"] = std::uint64_t{i == 1 ? 20U : 0U};
  }
  const std::string key = "ib.mlx5_ib1.1.link_error_recovery";
  auto& changes = node.earlier.counters[key];
  for (unsigned hour = 0; hour < 20; ++hour)
    changes.push_back({.uptime_s = 600 + hour * 4200.0, .value = hour});
  node.earlier.last_uptime_s = ib_node::kUptime - 600;
  EXPECT_THAT(judge(node, profile),
              ElementsAre(fails("mlx5_ib1", Remedy::report_to_provider, {20.0, 10.0, "in 24 h"})));
}

TEST(IbErrorsTest, LeavesThePortsRefusedRegisterOutWhereTheFunctionsOwnCountersAreJudged) {
  Profile profile = ib_node::profile();
  profile.ib->errors.counters["out_of_sequence"] = {.warn_above_per_hour = 10};
  Snapshot node = ib_node::node();
  for (unsigned i = 0; i < 4; ++i) {
    ib_node::hca_of(node, i).virtual_function = true;
    counter(node, i) = Fact<std::uint64_t>::absent("refused to a virtual function");
    ib_node::port_of(node, i).hw_counters["out_of_sequence"] = std::uint64_t{0};
    ib_node::seen_before(node, fmt::format("ib.mlx5_ib{}.1.out_of_sequence", i), 0);
  }
  EXPECT_THAT(judge(node, profile), ElementsAre(passes()));
}

}  // namespace
}  // namespace muster::ib_errors_test
