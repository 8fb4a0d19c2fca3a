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
  EXPECT_THAT(judge(kGood, std::string("tsc")),
              ElementsAre(Finding{
                  .device = "node",
                  .outcome = Outcome::pass,
                  .message = "the clock is synchronised within 2.0 ms, the clocksource is tsc"}));
}

TEST(HostClockTest, WarnsOnceOfAClockThatNothingKeepsRight) {
  EXPECT_THAT(judge(TimeSync{.synchronised = false, .estimated_error_s = 16}, std::string("tsc")),
              ElementsAre(Finding{.device = "clock",
                                  .outcome = Outcome::warn,
                                  .message = "the clock is not synchronised",
                                  .observed = false,
                                  .limit = true,
                                  .remedy = Remedy::restart_service}));
}

TEST(HostClockTest, WarnsOfALargeError) {
  EXPECT_THAT(judge(TimeSync{.synchronised = true, .estimated_error_s = 0.25}, std::string("tsc")),
              ElementsAre(Finding{
                  .device = "clock",
                  .outcome = Outcome::warn,
                  .message = "the clock may be wrong by 250.0 ms, expected at most 100.0 ms",
                  .observed = 0.25,
                  .limit = 0.1,
                  .unit = "s",
                  .remedy = Remedy::restart_service}));
}

TEST(HostClockTest, WarnsOfAnotherClocksource) {
  EXPECT_THAT(judge(kGood, std::string("hpet")),
              ElementsAre(Finding{
                  .device = "clocksource",
                  .outcome = Outcome::warn,
                  .message = "the clocksource is hpet, expected tsc or hyperv_clocksource_tsc_page",
                  .observed = "hpet",
                  .limit = "tsc or hyperv_clocksource_tsc_page",
                  .remedy = Remedy::fix_config}));
}

TEST(HostClockTest, IsUndecidedWhereTheKernelDidNotTell) {
  EXPECT_THAT(
      judge(Fact<TimeSync>::unreadable("adjtimex: Operation not permitted"),
            Fact<std::string>::absent("no clocksource0")),
      ElementsAre(
          Finding{
              .device = "clock",
              .outcome = Outcome::unknown,
              .message = "the state of the clock is not known: adjtimex: Operation not permitted"},
          Finding{.device = "clocksource",
                  .outcome = Outcome::unknown,
                  .message = "the clocksource is not known: no clocksource0"}));
}

TEST(HostClockTest, SkipsTheStateOfTheClockBelowAForeignRoot) {
  const Snapshot snapshot{
      .identity = observed(Identity{.foreign_root = true}),
      .kernel = observed(
          Kernel{.clock = Fact<TimeSync>::absent("adjtimex cannot be asked below a foreign root"),
                 .clocksource = std::string("tsc")})};
  EXPECT_THAT(
      ask(checks::host_clock::check, snapshot, kAll),
      ElementsAre(Finding{.device = "clock",
                          .outcome = Outcome::skip,
                          .message = "the state of the clock is not known: adjtimex cannot be "
                                     "asked below a foreign root"}));
}

TEST(HostClockTest, IsSkippedWithoutLimits) {
  EXPECT_THAT(
      judge(kGood, std::string("hpet"), {}),
      ElementsAre(Finding{.device = "node",
                          .outcome = Outcome::skip,
                          .message = "no clock state or clocksource expected by this profile"}));
}

}  // namespace
}  // namespace muster::host_clock_test
