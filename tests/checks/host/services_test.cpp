// SPDX-License-Identifier: Apache-2.0
// host.services judged on literal nodes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checks/catalogue.hpp"
#include "lib/profile/limits/host.hpp"
#include "tests/checks/ask.hpp"
#include "tests/support/printers.hpp"

namespace muster::host_services_test {
namespace {

using ::testing::ElementsAre;

Findings judge(Services services, ServiceLimits limits) {
  return ask(checks::host_services::check, {.services = observed(std::move(services))},
             {.host = HostLimits{.services = std::move(limits)}});
}

Services active(std::vector<std::string> units) { return {.active = std::move(units)}; }

Expected failure(std::string unit, std::string seen, std::string limit, Remedy remedy) {
  return {.device = std::move(unit),
          .outcome = Outcome::fail,
          .observed = std::move(seen),
          .limit = std::move(limit),
          .remedy = remedy};
}

TEST(HostServicesTest, PassesWithNamesWithAndWithoutTheirSuffix) {
  EXPECT_THAT(
      judge(active({"chrony.service", "munge.service", "dbus.socket"}),
            {.active = {"munge", "chrony.service", "dbus.socket"}, .inactive = {"apt-daily"}}),
      ElementsAre(passes()));
}

TEST(HostServicesTest, FailsAServiceThatIsNotActive) {
  EXPECT_THAT(judge(active({"chrony.service"}), {.active = {"nvidia-fabricmanager"}}),
              ElementsAre(failure("nvidia-fabricmanager.service", "inactive", "active",
                                  Remedy::restart_service)));
}

TEST(HostServicesTest, ReportsFailedServices) {
  Services services = active({});
  services.failed = std::vector<std::string>{"munge.service"};
  EXPECT_THAT(judge(services, {.active = {"munge"}}),
              ElementsAre(failure("munge.service", "failed", "active", Remedy::restart_service)));
}

TEST(HostServicesTest, FailsEveryServiceThatMustNotBeActive) {
  EXPECT_THAT(
      judge(active({"apt-daily.timer", "apt-daily-upgrade.timer", "munge.service"}),
            {.inactive = {"apt-daily*.timer"}}),
      ElementsAre(failure("apt-daily.timer", "active", "inactive", Remedy::fix_config),
                  failure("apt-daily-upgrade.timer", "active", "inactive", Remedy::fix_config)));
}

TEST(HostServicesTest, IsUndecidedWithoutTheListOfUnits) {
  EXPECT_THAT(judge({.active = Fact<std::vector<std::string>>::unreadable(
                         "list system.slice: Permission denied")},
                    {.active = {"munge"}}),
              ElementsAre(unknown()));
}

TEST(HostServicesTest, IsSkippedWithoutLimits) {
  EXPECT_THAT(judge(active({}), {}), ElementsAre(skips()));
}

}  // namespace
}  // namespace muster::host_services_test
