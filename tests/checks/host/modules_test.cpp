// SPDX-License-Identifier: Apache-2.0
// host.modules judged on literal nodes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checks/catalogue.hpp"
#include "lib/profile/limits/host.hpp"
#include "tests/checks/ask.hpp"
#include "tests/support/printers.hpp"

namespace muster::host_modules_test {
namespace {

using ::testing::ElementsAre;

Findings judge(Fact<std::vector<std::string>> modules, ModuleLimits limits) {
  return ask(checks::host_modules::check,
             {.kernel = observed(Kernel{.modules = std::move(modules)})},
             {.host = HostLimits{.modules = std::move(limits)}});
}

const std::vector<std::string> kLoaded{"mlx5_ib", "nv_peer_mem", "nouveau"};

TEST(HostModulesTest, PassesWithAnyAlternative) {
  EXPECT_THAT(
      judge(kLoaded, {.required = {"mlx5_ib", "nvidia_peermem|nv_peer_mem"}}),
      ElementsAre(Finding{
          .device = "node", .outcome = Outcome::pass, .message = "2 kernel modules as expected"}));
}

TEST(HostModulesTest, TakesDashesAndUnderscoresAsTheSame) {
  EXPECT_THAT(
      judge(kLoaded, {.required = {"mlx5-ib"}}),
      ElementsAre(Finding{
          .device = "node", .outcome = Outcome::pass, .message = "1 kernel module as expected"}));
}

TEST(HostModulesTest, FailsAMissingModuleWithItsAlternatives) {
  EXPECT_THAT(judge(kLoaded, {.required = {"ib_umad", "gdrdrv|nvidia_peermem"}}),
              ElementsAre(Finding{.device = "ib_umad",
                                  .outcome = Outcome::fail,
                                  .message = "kernel module ib_umad is not loaded",
                                  .observed = false,
                                  .limit = true,
                                  .remedy = Remedy::fix_config},
                          Finding{.device = "gdrdrv|nvidia_peermem",
                                  .outcome = Outcome::fail,
                                  .message = "kernel module gdrdrv or nvidia_peermem is not loaded",
                                  .observed = false,
                                  .limit = true,
                                  .remedy = Remedy::fix_config}));
}

TEST(HostModulesTest, FailsAForbiddenModule) {
  EXPECT_THAT(judge(kLoaded, {.forbidden = {"nouveau"}}),
              ElementsAre(Finding{.device = "nouveau",
                                  .outcome = Outcome::fail,
                                  .message = "kernel module nouveau is loaded, and must not be",
                                  .observed = true,
                                  .limit = false,
                                  .remedy = Remedy::fix_config}));
}

TEST(HostModulesTest, WarnsOfAForbiddenOneThatAnyUserCanHaveLoaded) {
  const std::vector<std::string> loaded{"sctp", "can_raw", "cannery"};
  EXPECT_THAT(judge(loaded, {.forbidden = {"sctp"}}),
              ElementsAre(Finding{.device = "sctp",
                                  .outcome = Outcome::warn,
                                  .message = "kernel module sctp is loaded, and must not be; any "
                                             "user can have it loaded",
                                  .observed = true,
                                  .limit = false,
                                  .remedy = Remedy::fix_config}));
  EXPECT_EQ(judge(loaded, {.forbidden = {"can-raw"}}).front().outcome, Outcome::warn);
  EXPECT_EQ(judge(loaded, {.forbidden = {"cannery"}}).front().outcome, Outcome::fail);
}

TEST(HostModulesTest, IsUndecidedWithoutTheList) {
  EXPECT_THAT(
      judge(Fact<std::vector<std::string>>::unreadable("list sys/module: Permission denied"),
            {.required = {"mlx5_ib"}}),
      ElementsAre(Finding{
          .device = "node",
          .outcome = Outcome::unknown,
          .message =
              "the list of kernel modules is not known: list sys/module: Permission denied"}));
}

TEST(HostModulesTest, IsSkippedWithoutLimits) {
  EXPECT_THAT(judge(kLoaded, {}),
              ElementsAre(Finding{.device = "node",
                                  .outcome = Outcome::skip,
                                  .message = "no kernel modules expected by this profile"}));
}

}  // namespace
}  // namespace muster::host_modules_test
