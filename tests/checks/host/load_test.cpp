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
  EXPECT_THAT(judge({.load5 = 16.0, .running = std::uint64_t{16}}),
              ElementsAre(Finding{.device = "node",
                                  .outcome = Outcome::pass,
                                  .message = "5-minute load average 16.0 on 8 logical CPUs"}));
}

TEST(HostLoadTest, WarnsOnceOfHighLoadAndTheTasksThatMakeIt) {
  EXPECT_THAT(
      judge({.load5 = 20.0, .running = std::uint64_t{40}}),
      ElementsAre(Finding{
          .device = "node",
          .outcome = Outcome::warn,
          .message = "5-minute load average 20.0 on 8 logical CPUs, 2.50 each; expected at most 2",
          .observed = 2.5,
          .limit = 2.0,
          .unit = "load per CPU",
          .remedy = Remedy::watch}));
}

TEST(HostLoadTest, WarnsOfManyRunnableTasksBeforeTheLoadShowsThem) {
  EXPECT_THAT(judge({.load1 = 17.0, .load5 = 1.0, .running = std::uint64_t{24}}),
              ElementsAre(Finding{
                  .device = "node",
                  .outcome = Outcome::warn,
                  .message = "24 runnable tasks on 8 logical CPUs, 3.00 each, and a 1-minute load "
                             "average of 17.0; expected at most 2 each",
                  .observed = 3.0,
                  .limit = 2.0,
                  .unit = "tasks per CPU",
                  .remedy = Remedy::watch}));
}

TEST(HostLoadTest, DoesNotWarnOfTasksThatRunForAMomentOnly) {
  EXPECT_THAT(judge({.load1 = 16.0, .load5 = 1.0, .running = std::uint64_t{24}}),
              ElementsAre(Finding{.device = "node",
                                  .outcome = Outcome::pass,
                                  .message = "5-minute load average 1.0 on 8 logical CPUs"}));
}

TEST(HostLoadTest, IsUndecidedAboutManyRunnableTasksWithoutTheLoad) {
  EXPECT_THAT(
      judge({.load1 = Fact<double>::unreadable("loadavg: garbled"),
             .load5 = 1.0,
             .running = std::uint64_t{24}}),
      ElementsAre(Finding{.device = "node",
                          .outcome = Outcome::unknown,
                          .message = "the 1-minute load average is not known: loadavg: garbled"}));
}

TEST(HostLoadTest, IsUndecidedWhereNothingOfItCouldBeRead) {
  EXPECT_THAT(judge({.load5 = Fact<double>::unreadable("loadavg: garbled"),
                     .running = Fact<std::uint64_t>::unreadable("loadavg: garbled")}),
              ElementsAre(Finding{.device = "node",
                                  .outcome = Outcome::unknown,
                                  .message = "the load average is not known: loadavg: garbled"}));
}

TEST(HostLoadTest, IsUndecidedWhereTheLoadCouldNotBeRead) {
  EXPECT_THAT(
      judge({.load5 = Fact<double>::unreadable("loadavg: garbled"), .running = std::uint64_t{1}}),
      ElementsAre(Finding{.device = "node",
                          .outcome = Outcome::unknown,
                          .message = "the load average is not known: loadavg: garbled"}));
}

TEST(HostLoadTest, IsUndecidedWithoutTheNumberOfCpus) {
  EXPECT_THAT(
      judge({.load5 = 1.0}, 0U),
      ElementsAre(Finding{.device = "node",
                          .outcome = Outcome::unknown,
                          .message = "the number of logical CPUs is not known: none is online"}));
  EXPECT_THAT(
      judge({.load5 = 1.0}, Fact<unsigned>::unreadable("online: empty")),
      ElementsAre(Finding{.device = "node",
                          .outcome = Outcome::unknown,
                          .message = "the number of logical CPUs is not known: online: empty"}));
}

TEST(HostLoadTest, JudgesRunnableTasksAlone) {
  EXPECT_THAT(judge({.running = std::uint64_t{3}}, 8U,
                    {.host = HostLimits{.load = {.running_warn_above_per_core = 2.0}}}),
              ElementsAre(Finding{.device = "node",
                                  .outcome = Outcome::pass,
                                  .message = "3 runnable tasks on 8 logical CPUs"}));
}

TEST(HostLoadTest, IsSkippedWithoutLimits) {
  EXPECT_THAT(judge({.load5 = 1000.0}, 8U, {}),
              ElementsAre(Finding{.device = "node",
                                  .outcome = Outcome::skip,
                                  .message = "this profile sets no limit for the load"}));
}

}  // namespace
}  // namespace muster::host_load_test
