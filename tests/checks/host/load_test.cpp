// SPDX-License-Identifier: Apache-2.0
// host.load judged on literal nodes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checks/catalogue.hpp"
#include "lib/profile/limits/host.hpp"
#include "tests/checks/ask.hpp"
#include "tests/support/printers.hpp"

namespace muster::host_load_test {
namespace {

using ::testing::ElementsAre;

const Profile kTwoPerCore{
    .host = HostLimits{.load = {.warn_above_per_core = 2.0, .running_warn_above_per_core = 2.0}}};

Findings judge(Processes processes, Fact<unsigned> threads = 8U,
               const Profile& profile = kTwoPerCore) {
  return ask(checks::host_load::check,
             {.cpu = observed(Cpu{.threads = std::move(threads)}),
              .processes = observed(std::move(processes))},
             profile);
}

TEST(HostLoadTest, PassesAtTheLimit) {
  EXPECT_THAT(judge({.load5 = 16.0, .running = std::uint64_t{16}}), ElementsAre(passes()));
}

TEST(HostLoadTest, WarnsOnceOfHighLoadAndTheTasksThatMakeIt) {
  EXPECT_THAT(judge({.load5 = 20.0, .running = std::uint64_t{40}}),
              ElementsAre(warns("node", Remedy::watch, {2.5, 2.0, "load per CPU"})));
}

TEST(HostLoadTest, WarnsOfManyRunnableTasksBeforeTheLoadShowsThem) {
  EXPECT_THAT(judge({.load1 = 17.0, .load5 = 1.0, .running = std::uint64_t{24}}),
              ElementsAre(warns("node", Remedy::watch, {3.0, 2.0, "tasks per CPU"})));
}

TEST(HostLoadTest, DoesNotWarnOfTasksThatRunForAMomentOnly) {
  EXPECT_THAT(judge({.load1 = 16.0, .load5 = 1.0, .running = std::uint64_t{24}}),
              ElementsAre(passes()));
}

TEST(HostLoadTest, IsUndecidedAboutManyRunnableTasksWithoutTheLoad) {
  EXPECT_THAT(judge({.load1 = Fact<double>::unreadable("loadavg: garbled"),
                     .load5 = 1.0,
                     .running = std::uint64_t{24}}),
              ElementsAre(unknown()));
}

TEST(HostLoadTest, IsUndecidedWhereNothingOfItCouldBeRead) {
  EXPECT_THAT(judge({.load5 = Fact<double>::unreadable("loadavg: garbled"),
                     .running = Fact<std::uint64_t>::unreadable("loadavg: garbled")}),
              ElementsAre(unknown()));
}

TEST(HostLoadTest, IsUndecidedWhereTheLoadCouldNotBeRead) {
  EXPECT_THAT(
      judge({.load5 = Fact<double>::unreadable("loadavg: garbled"), .running = std::uint64_t{1}}),
      ElementsAre(unknown()));
}

TEST(HostLoadTest, IsUndecidedWithoutTheNumberOfCpus) {
  EXPECT_THAT(judge({.load5 = 1.0}, 0U), ElementsAre(unknown()));
  EXPECT_THAT(judge({.load5 = 1.0}, Fact<unsigned>::unreadable("online: empty")),
              ElementsAre(unknown()));
}

TEST(HostLoadTest, JudgesRunnableTasksAlone) {
  EXPECT_THAT(judge({.running = std::uint64_t{3}}, 8U,
                    {.host = HostLimits{.load = {.running_warn_above_per_core = 2.0}}}),
              ElementsAre(passes()));
}

TEST(HostLoadTest, IsSkippedWithoutLimits) {
  EXPECT_THAT(judge({.load5 = 1000.0}, 8U, {}), ElementsAre(skips()));
}

}  // namespace
}  // namespace muster::host_load_test
