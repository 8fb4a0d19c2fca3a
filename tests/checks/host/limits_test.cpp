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

const Expected kPass{.device = "node", .outcome = Outcome::pass};

TEST(HostLimitsTest, PassesWithUnlimitedMemoryAndEnoughFiles) {
  EXPECT_THAT(judge(std::string("unlimited"), std::string("65536")), ElementsAre(kPass));
  EXPECT_THAT(judge(std::string("unlimited"), std::string("unlimited")), ElementsAre(kPass));
}

TEST(HostLimitsTest, FailsLimitedMemory) {
  EXPECT_THAT(judge(std::string("8388608"), std::string("65536")),
              ElementsAre(fails("locked memory", Remedy::fix_config,
                                {std::int64_t{8388608}, "unlimited", "B"})));
}

TEST(HostLimitsTest, FailsTooFewOpenFiles) {
  EXPECT_THAT(judge(std::string("unlimited"), std::string("1024")),
              ElementsAre(fails("open files", Remedy::fix_config,
                                {std::int64_t{1024}, std::int64_t{65536}, "files"})));
}

TEST(HostLimitsTest, OnlyWarnsWhereNothingStartsJobsAndTheLimitsAreItsOwn) {
  EXPECT_THAT(judge(std::string("8388608"), std::string("1024"), kBoth, kOwnLimits),
              ElementsAre(warns("locked memory", Remedy::fix_config,
                                {std::int64_t{8388608}, "unlimited", "B"}),
                          warns("open files", Remedy::fix_config,
                                {std::int64_t{1024}, std::int64_t{65536}, "files"})));
}

TEST(HostLimitsTest, IgnoresFactsWithoutALimit) {
  EXPECT_THAT(judge(std::string("65536"), std::string("4096"),
                    {.host = HostLimits{.limits = {.open_files_min = 1024}}}),
              ElementsAre(kPass));
}

TEST(HostLimitsTest, IsUndecidedWhereALimitCouldNotBeReadOrUnderstood) {
  EXPECT_THAT(judge(Fact<std::string>::absent("no /proc/1234/limits"), std::string("many")),
              ElementsAre(unknown("locked memory"), unknown("open files")));
}

TEST(HostLimitsTest, IsSkippedBelowAForeignRootThatHasNoSuchProcess) {
  const Snapshot snapshot{
      .identity = observed(Identity{.foreign_root = true}),
      .kernel = observed(Kernel{
          .limits = {.memlock_bytes = Fact<std::string>::absent("no slurmd below the root")}})};
  EXPECT_THAT(ask(checks::host_limits::check, snapshot,
                  {.host = HostLimits{.limits = {.memlock_unlimited = true}}}),
              ElementsAre(skips("locked memory")));
}

TEST(HostLimitsTest, IsSkippedWithoutLimits) {
  EXPECT_THAT(judge(std::string("0"), std::string("0"), {}), ElementsAre(skips()));
}

}  // namespace
}  // namespace muster::host_limits_test
