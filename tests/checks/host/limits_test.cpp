// SPDX-License-Identifier: Apache-2.0
// host.limits judged on literal nodes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checks/catalogue.hpp"
#include "lib/profile/limits/host.hpp"
#include "tests/checks/ask.hpp"
#include "tests/support/printers.hpp"

namespace muster::host_limits_test {
namespace {

using ::testing::ElementsAre;

const Profile kBoth{.host =
                        HostLimits{.limits = {.memlock_unlimited = true, .open_files_min = 65536}}};

Findings judge(Fact<std::string> memlock, Fact<std::string> files, const Profile& profile = kBoth,
               std::string_view process = "slurmd (1234)") {
  return ask(checks::host_limits::check,
             {.kernel = observed(Kernel{.limits = {.process = std::string(process),
                                                   .memlock_bytes = std::move(memlock),
                                                   .open_files = std::move(files)}})},
             profile);
}

const Finding kPass{.device = "node",
                    .outcome = Outcome::pass,
                    .message = "resource limits of slurmd (1234) as expected"};

TEST(HostLimitsTest, PassesWithUnlimitedMemoryAndEnoughFiles) {
  EXPECT_THAT(judge(std::string("unlimited"), std::string("65536")), ElementsAre(kPass));
  EXPECT_THAT(judge(std::string("unlimited"), std::string("unlimited")), ElementsAre(kPass));
}

TEST(HostLimitsTest, FailsLimitedMemory) {
  EXPECT_THAT(judge(std::string("8388608"), std::string("65536")),
              ElementsAre(Finding{
                  .device = "locked memory",
                  .outcome = Outcome::fail,
                  .message = "slurmd (1234) may lock 8192 KiB of memory, expected unlimited",
                  .observed = std::int64_t{8388608},
                  .limit = "unlimited",
                  .unit = "B",
                  .remedy = Remedy::fix_config}));
}

TEST(HostLimitsTest, FailsTooFewOpenFiles) {
  EXPECT_THAT(
      judge(std::string("unlimited"), std::string("1024")),
      ElementsAre(Finding{.device = "open files",
                          .outcome = Outcome::fail,
                          .message = "slurmd (1234) may open 1024 files, expected at least 65536",
                          .observed = std::int64_t{1024},
                          .limit = std::int64_t{65536},
                          .unit = "files",
                          .remedy = Remedy::fix_config}));
}

TEST(HostLimitsTest, OnlyWarnsWhereNothingStartsJobsAndTheLimitsAreItsOwn) {
  EXPECT_THAT(
      judge(std::string("8388608"), std::string("1024"), kBoth, kOwnLimits),
      ElementsAre(Finding{.device = "locked memory",
                          .outcome = Outcome::warn,
                          .message = "no process that starts jobs was found, and muster itself may "
                                     "lock 8192 KiB of memory, expected unlimited",
                          .observed = std::int64_t{8388608},
                          .limit = "unlimited",
                          .unit = "B",
                          .remedy = Remedy::fix_config},
                  Finding{.device = "open files",
                          .outcome = Outcome::warn,
                          .message = "no process that starts jobs was found, and muster itself may "
                                     "open 1024 files, expected at least 65536",
                          .observed = std::int64_t{1024},
                          .limit = std::int64_t{65536},
                          .unit = "files",
                          .remedy = Remedy::fix_config}));
}

TEST(HostLimitsTest, LeavesAloneWhatTheProfileDoesNotLimit) {
  EXPECT_THAT(judge(std::string("65536"), std::string("4096"),
                    {.host = HostLimits{.limits = {.open_files_min = 1024}}}),
              ElementsAre(kPass));
}

TEST(HostLimitsTest, IsUndecidedWhereALimitCouldNotBeReadOrUnderstood) {
  EXPECT_THAT(
      judge(Fact<std::string>::absent("no /proc/1234/limits"), std::string("many")),
      ElementsAre(
          Finding{.device = "locked memory",
                  .outcome = Outcome::unknown,
                  .message = "the limit of locked memory is not known: no /proc/1234/limits"},
          Finding{.device = "open files",
                  .outcome = Outcome::unknown,
                  .message = "the limit of open files is not known: \"many\" is not a number"}));
}

TEST(HostLimitsTest, IsSkippedBelowAForeignRootThatHasNoSuchProcess) {
  const Snapshot snapshot{
      .identity = observed(Identity{.foreign_root = true}),
      .kernel = observed(Kernel{
          .limits = {.memlock_bytes = Fact<std::string>::absent("no slurmd below the root")}})};
  EXPECT_THAT(ask(checks::host_limits::check, snapshot,
                  {.host = HostLimits{.limits = {.memlock_unlimited = true}}}),
              ElementsAre(Finding{
                  .device = "locked memory",
                  .outcome = Outcome::skip,
                  .message = "the limit of locked memory is not known: no slurmd below the root"}));
}

TEST(HostLimitsTest, IsSkippedWithoutLimits) {
  EXPECT_THAT(judge(std::string("0"), std::string("0"), {}),
              ElementsAre(Finding{.device = "node",
                                  .outcome = Outcome::skip,
                                  .message = "no resource limits expected by this profile"}));
}

}  // namespace
}  // namespace muster::host_limits_test
