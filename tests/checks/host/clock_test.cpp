// SPDX-License-Identifier: Apache-2.0
// host.clock judged on literal nodes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checks/catalogue.hpp"
#include "lib/profile/limits/host.hpp"
#include "tests/checks/ask.hpp"
#include "tests/support/printers.hpp"

namespace muster::host_clock_test {
namespace {

using ::testing::ElementsAre;

const Profile kAll{
    .host = HostLimits{.clock = {.synchronised = true,
                                 .error_warn_above = Seconds{0.1},
                                 .clocksource = {"tsc", "hyperv_clocksource_tsc_page"}}}};

Findings judge(Fact<TimeSync> clock, Fact<std::string> source, const Profile& profile = kAll) {
  return ask(
      checks::host_clock::check,
      {.kernel = observed(Kernel{.clock = std::move(clock), .clocksource = std::move(source)})},
      profile);
}

const TimeSync kGood{.synchronised = true, .estimated_error_s = 0.002};

TEST(HostClockTest, PassesWhenSynchronised) {
  EXPECT_THAT(judge(kGood, std::string("tsc")), ElementsAre(passes()));
}

TEST(HostClockTest, WarnsOnceOfAClockThatNothingKeepsRight) {
  EXPECT_THAT(judge(TimeSync{.synchronised = false, .estimated_error_s = 16}, std::string("tsc")),
              ElementsAre(warns("clock", Remedy::restart_service, {false, true})));
}

TEST(HostClockTest, WarnsOfALargeError) {
  EXPECT_THAT(judge(TimeSync{.synchronised = true, .estimated_error_s = 0.25}, std::string("tsc")),
              ElementsAre(warns("clock", Remedy::restart_service, {0.25, 0.1, "s"})));
}

TEST(HostClockTest, WarnsOfAnotherClocksource) {
  EXPECT_THAT(judge(kGood, std::string("hpet")),
              ElementsAre(warns("clocksource", Remedy::fix_config,
                                {"hpet", "tsc or hyperv_clocksource_tsc_page"})));
}

TEST(HostClockTest, IsUnknownWithoutFactsOfTheKernel) {
  EXPECT_THAT(judge(Fact<TimeSync>::unreadable("adjtimex: Operation not permitted"),
                    Fact<std::string>::absent("no clocksource0")),
              ElementsAre(unknown("clock"), unknown("clocksource")));
}

TEST(HostClockTest, SkipsTheStateOfTheClockBelowAForeignRoot) {
  const Snapshot snapshot{
      .identity = observed(Identity{.foreign_root = true}),
      .kernel = observed(
          Kernel{.clock = Fact<TimeSync>::absent("adjtimex cannot be asked below a foreign root"),
                 .clocksource = std::string("tsc")})};
  EXPECT_THAT(ask(checks::host_clock::check, snapshot, kAll), ElementsAre(skips("clock")));
}

TEST(HostClockTest, IsSkippedWithoutLimits) {
  EXPECT_THAT(judge(kGood, std::string("hpet"), {}), ElementsAre(skips()));
}

}  // namespace
}  // namespace muster::host_clock_test
