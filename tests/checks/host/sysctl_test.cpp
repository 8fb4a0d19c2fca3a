// SPDX-License-Identifier: Apache-2.0
// host.sysctl judged on literal nodes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checks/catalogue.hpp"
#include "lib/profile/limits/host.hpp"
#include "tests/checks/ask.hpp"
#include "tests/support/printers.hpp"

namespace muster::host_sysctl_test {
namespace {

using ::testing::ElementsAre;

Findings judge(Kernel kernel, SysctlLimits limits) {
  return ask(checks::host_sysctl::check, {.kernel = observed(std::move(kernel))},
             {.host = HostLimits{.sysctl = std::move(limits)}});
}

TEST(HostSysctlTest, PassesWithTheExpectedValues) {
  EXPECT_THAT(
      judge({.sysctl = {{"kernel.numa_balancing", std::string("0")}},
             .transparent_hugepage = std::string("madvise")},
            {.values = {{"kernel.numa_balancing", "0"}},
             .transparent_hugepage = {HugePageMode::always, HugePageMode::madvise}}),
      ElementsAre(Finding{
          .device = "node", .outcome = Outcome::pass, .message = "2 kernel settings as expected"}));
}

TEST(HostSysctlTest, WarnsOfAnotherValue) {
  EXPECT_THAT(judge({.sysctl = {{"kernel.numa_balancing", std::string("1")}}},
                    {.values = {{"kernel.numa_balancing", "0"}}}),
              ElementsAre(Finding{.device = "kernel.numa_balancing",
                                  .outcome = Outcome::warn,
                                  .message = "kernel.numa_balancing is 1, expected 0",
                                  .observed = "1",
                                  .limit = "0",
                                  .remedy = Remedy::fix_config}));
}

TEST(HostSysctlTest, AcceptsEveryAlternative) {
  EXPECT_THAT(
      judge({.sysctl = {{"vm.overcommit_memory", std::string("1")}}},
            {.values = {{"vm.overcommit_memory", "0 | 1"}}}),
      ElementsAre(Finding{
          .device = "node", .outcome = Outcome::pass, .message = "1 kernel setting as expected"}));
}

TEST(HostSysctlTest, ComparesNumbersWhateverSeparatesThem) {
  EXPECT_THAT(
      judge({.sysctl = {{"net.ipv4.tcp_rmem", std::string("4096\t87380\t6291456")}}},
            {.values = {{"net.ipv4.tcp_rmem", "4096 87380 6291456"}}}),
      ElementsAre(Finding{
          .device = "node", .outcome = Outcome::pass, .message = "1 kernel setting as expected"}));
}

TEST(HostSysctlTest, WarnsOfAnotherModeOfTransparentHugePages) {
  EXPECT_THAT(
      judge({.transparent_hugepage = std::string("never")},
            {.transparent_hugepage = {HugePageMode::always, HugePageMode::madvise}}),
      ElementsAre(Finding{.device = "transparent_hugepage",
                          .outcome = Outcome::warn,
                          .message = "transparent_hugepage is never, expected always|madvise",
                          .observed = "never",
                          .limit = "always|madvise",
                          .remedy = Remedy::fix_config}));
}

TEST(HostSysctlTest, SkipsAKeyThatThisKernelDoesNotHave) {
  EXPECT_THAT(
      judge({.sysctl = {{"kernel.numa_balancing", Fact<std::string>::absent("no such file")},
                        {"vm.zone_reclaim_mode", std::string("0")}}},
            {.values = {{"kernel.numa_balancing", "0"}, {"vm.zone_reclaim_mode", "0"}}}),
      ElementsAre(Finding{.device = "kernel.numa_balancing",
                          .outcome = Outcome::skip,
                          .message = "this kernel has no kernel.numa_balancing: no such file"},
                  Finding{.device = "node",
                          .outcome = Outcome::pass,
                          .message = "1 kernel setting as expected"}));
}

TEST(HostSysctlTest, IsNoPassWhereTheKernelHasNoneOfTheKeys) {
  EXPECT_THAT(
      judge({.transparent_hugepage = Fact<std::string>::absent("no such file")},
            {.transparent_hugepage = {HugePageMode::never}}),
      ElementsAre(Finding{.device = "transparent_hugepage",
                          .outcome = Outcome::skip,
                          .message = "this kernel has no transparent_hugepage: no such file"}));
}

TEST(HostSysctlTest, IsUndecidedWhereAValueCouldNotBeReadOrWasNotLookedFor) {
  EXPECT_THAT(
      judge({.sysctl = {{"a.b", Fact<std::string>::unreadable("read a/b: Permission denied")}}},
            {.values = {{"a.b", "0"}, {"c.d", "0"}}}),
      ElementsAre(
          Finding{.device = "a.b",
                  .outcome = Outcome::unknown,
                  .message = "a.b is not known: read a/b: Permission denied"},
          Finding{.device = "c.d",
                  .outcome = Outcome::unknown,
                  .message = "c.d is not known: the snapshot was taken without looking for it"}));
}

TEST(HostSysctlTest, IsSkippedWithoutLimits) {
  EXPECT_THAT(judge({}, {}),
              ElementsAre(Finding{.device = "node",
                                  .outcome = Outcome::skip,
                                  .message = "no kernel settings expected by this profile"}));
}

}  // namespace
}  // namespace muster::host_sysctl_test
