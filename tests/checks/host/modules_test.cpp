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
  EXPECT_THAT(judge(kLoaded, {.required = {"mlx5_ib", "nvidia_peermem|nv_peer_mem"}}),
              ElementsAre(passes()));
}

TEST(HostModulesTest, TakesDashesAndUnderscoresAsTheSame) {
  EXPECT_THAT(judge(kLoaded, {.required = {"mlx5-ib"}}), ElementsAre(passes()));
}

TEST(HostModulesTest, FailsAMissingModuleWithItsAlternatives) {
  EXPECT_THAT(judge(kLoaded, {.required = {"ib_umad", "gdrdrv|nvidia_peermem"}}),
              ElementsAre(fails("ib_umad", Remedy::fix_config, {false, true}),
                          fails("gdrdrv|nvidia_peermem", Remedy::fix_config, {false, true})));
}

TEST(HostModulesTest, FailsAForbiddenModule) {
  EXPECT_THAT(judge(kLoaded, {.forbidden = {"nouveau"}}),
              ElementsAre(fails("nouveau", Remedy::fix_config, {true, false})));
}

TEST(HostModulesTest, WarnsOfAForbiddenOneThatAnyUserCanHaveLoaded) {
  const std::vector<std::string> loaded{"sctp", "can_raw", "cannery"};
  EXPECT_THAT(judge(loaded, {.forbidden = {"sctp"}}),
              ElementsAre(warns("sctp", Remedy::fix_config, {true, false})));
  EXPECT_EQ(judge(loaded, {.forbidden = {"can-raw"}}).front().outcome, Outcome::warn);
  EXPECT_EQ(judge(loaded, {.forbidden = {"cannery"}}).front().outcome, Outcome::fail);
}

TEST(HostModulesTest, IsUndecidedWithoutTheList) {
  EXPECT_THAT(
      judge(Fact<std::vector<std::string>>::unreadable("list sys/module: Permission denied"),
            {.required = {"mlx5_ib"}}),
      ElementsAre(unknown()));
}

TEST(HostModulesTest, IsSkippedWithoutLimits) {
  EXPECT_THAT(judge(kLoaded, {}), ElementsAre(skips()));
}

}  // namespace
}  // namespace muster::host_modules_test
