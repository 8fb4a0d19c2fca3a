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
  EXPECT_THAT(judge({.sysctl = {{"kernel.numa_balancing", std::string("0")}},
                     .transparent_hugepage = std::string("madvise")},
                    {.values = {{"kernel.numa_balancing", "0"}},
                     .transparent_hugepage = {HugePageMode::always, HugePageMode::madvise}}),
              ElementsAre(passes()));
}

TEST(HostSysctlTest, WarnsOfAnotherValue) {
  EXPECT_THAT(judge({.sysctl = {{"kernel.numa_balancing", std::string("1")}}},
                    {.values = {{"kernel.numa_balancing", "0"}}}),
              ElementsAre(warns("kernel.numa_balancing", Remedy::fix_config, {"1", "0"})));
}

TEST(HostSysctlTest, AcceptsEveryAlternative) {
  EXPECT_THAT(judge({.sysctl = {{"vm.overcommit_memory", std::string("1")}}},
                    {.values = {{"vm.overcommit_memory", "0 | 1"}}}),
              ElementsAre(passes()));
}

TEST(HostSysctlTest, ComparesNumbersWithAnySeparator) {
  EXPECT_THAT(judge({.sysctl = {{"net.ipv4.tcp_rmem", std::string("4096\t87380\t6291456")}}},
                    {.values = {{"net.ipv4.tcp_rmem", "4096 87380 6291456"}}}),
              ElementsAre(passes()));
}

TEST(HostSysctlTest, WarnsOfAnotherModeOfTransparentHugePages) {
  EXPECT_THAT(
      judge({.transparent_hugepage = std::string("never")},
            {.transparent_hugepage = {HugePageMode::always, HugePageMode::madvise}}),
      ElementsAre(warns("transparent_hugepage", Remedy::fix_config, {"never", "always|madvise"})));
}

TEST(HostSysctlTest, SkipsAKeyThatThisKernelDoesNotHave) {
  EXPECT_THAT(
      judge({.sysctl = {{"kernel.numa_balancing", Fact<std::string>::absent("no such file")},
                        {"vm.zone_reclaim_mode", std::string("0")}}},
            {.values = {{"kernel.numa_balancing", "0"}, {"vm.zone_reclaim_mode", "0"}}}),
      ElementsAre(skips("kernel.numa_balancing"), passes()));
}

TEST(HostSysctlTest, SkipsIfTheKernelHasNoneOfTheKeys) {
  EXPECT_THAT(judge({.transparent_hugepage = Fact<std::string>::absent("no such file")},
                    {.transparent_hugepage = {HugePageMode::never}}),
              ElementsAre(skips("transparent_hugepage")));
}

TEST(HostSysctlTest, IsUndecidedWhereAValueCouldNotBeReadOrWasNotLookedFor) {
  EXPECT_THAT(
      judge({.sysctl = {{"a.b", Fact<std::string>::unreadable("read a/b: Permission denied")}}},
            {.values = {{"a.b", "0"}, {"c.d", "0"}}}),
      ElementsAre(unknown("a.b"), unknown("c.d")));
}

TEST(HostSysctlTest, IsSkippedWithoutLimits) { EXPECT_THAT(judge({}, {}), ElementsAre(skips())); }

}  // namespace
}  // namespace muster::host_sysctl_test
