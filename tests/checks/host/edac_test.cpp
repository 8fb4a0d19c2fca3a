// SPDX-License-Identifier: Apache-2.0
// host.edac judged on literal nodes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checks/catalogue.hpp"
#include "lib/profile/limits/host.hpp"
#include "tests/checks/ask.hpp"
#include "tests/support/printers.hpp"

namespace muster::host_edac_test {
namespace {

using ::testing::ElementsAre;

const Profile kTenPerHour{.host = HostLimits{.edac = {.corrected_warn_above_per_hour = 10.0}}};

Snapshot node(Fact<std::vector<EdacController>> edac) {
  return {.identity = observed(Identity{.uptime_s = 10000.0}),
          .kernel = observed(Kernel{.edac = std::move(edac)})};
}

std::vector<EdacController> one_controller(std::uint64_t corrected, std::uint64_t uncorrected) {
  return {{.name = "mc0", .corrected = corrected, .uncorrected = uncorrected}};
}

Earlier seen_before(std::uint64_t corrected) {
  return {.last_uptime_s = 8200,
          .counters = {{"edac.mc0.corrected", {{.uptime_s = 8200, .value = corrected}}}}};
}

TEST(HostEdacTest, PassesByUncorrectedErrorsAloneAtTheFirstObservation) {
  EXPECT_THAT(ask(checks::host_edac::check, node(one_controller(7, 0)), kTenPerHour),
              ElementsAre(passes("mc0")));
}

TEST(HostEdacTest, PassesBelowTheRate) {
  Snapshot snapshot = node(one_controller(7, 0));
  snapshot.earlier = seen_before(5);
  EXPECT_THAT(ask(checks::host_edac::check, snapshot, kTenPerHour), ElementsAre(passes("mc0")));
}

TEST(HostEdacTest, WarnsAboveTheRate) {
  Snapshot snapshot = node(one_controller(25, 0));
  snapshot.earlier = seen_before(5);
  EXPECT_THAT(ask(checks::host_edac::check, snapshot, kTenPerHour),
              ElementsAre(warns("mc0", Remedy::watch, {20.0, 10.0, "errors/h"})));
}

// A node that is inspected once a day: the errors are a day's, not an hour's.
TEST(HostEdacTest, TheRateIsThatOfTheTimeSinceTheLastRun) {
  Snapshot snapshot = node(one_controller(25, 0));
  snapshot.identity.facts.uptime_s = 8200 + 24 * 3600.0;
  snapshot.earlier = seen_before(1);
  EXPECT_THAT(ask(checks::host_edac::check, snapshot, kTenPerHour), ElementsAre(passes("mc0")));
}

TEST(HostEdacTest, FailsAnyUncorrectedErrorWithoutALimit) {
  EXPECT_THAT(ask(checks::host_edac::check, node(one_controller(0, 1)), {}),
              ElementsAre(fails("mc0", Remedy::reseat_or_replace,
                                {std::int64_t{1}, std::int64_t{0}, "errors"})));
}

TEST(HostEdacTest, JudgesEveryController) {
  std::vector<EdacController> edac = one_controller(0, 0);
  edac.push_back({.name = "mc1", .corrected = std::uint64_t{0}, .uncorrected = std::uint64_t{2}});
  EXPECT_THAT(ask(checks::host_edac::check, node(edac), {}),
              ElementsAre(passes("mc0"), fails("mc1", Remedy::reseat_or_replace,
                                               {std::int64_t{2}, std::int64_t{0}, "errors"})));
}

TEST(HostEdacTest, IsUndecidedWhereACounterCouldNotBeRead) {
  std::vector<EdacController> edac = one_controller(0, 0);
  edac[0].uncorrected = Fact<std::uint64_t>::unreadable("ue_count: garbled");
  EXPECT_THAT(ask(checks::host_edac::check, node(edac), kTenPerHour), ElementsAre(unknown("mc0")));
  edac = one_controller(0, 0);
  edac[0].corrected = Fact<std::uint64_t>::unreadable("ce_count: garbled");
  EXPECT_THAT(ask(checks::host_edac::check, node(edac), kTenPerHour), ElementsAre(unknown("mc0")));
}

TEST(HostEdacTest, IsUndecidedOfARateWithoutTheTimeSinceBoot) {
  Snapshot snapshot = node(one_controller(0, 0));
  snapshot.identity->uptime_s = Fact<double>::unreadable("uptime: empty");
  EXPECT_THAT(ask(checks::host_edac::check, snapshot, kTenPerHour), ElementsAre(unknown("mc0")));
}

TEST(HostEdacTest, IsSkippedWhereNoDriverIsLoaded) {
  EXPECT_THAT(ask(checks::host_edac::check,
                  node(Fact<std::vector<EdacController>>::absent("no EDAC driver")), kTenPerHour),
              ElementsAre(skips()));
}

TEST(HostEdacTest, IsUndecidedWhereTheControllersCouldNotBeListed) {
  EXPECT_THAT(
      ask(checks::host_edac::check,
          node(Fact<std::vector<EdacController>>::unreadable("list mc: Permission denied")), {}),
      ElementsAre(unknown()));
}

}  // namespace
}  // namespace muster::host_edac_test
