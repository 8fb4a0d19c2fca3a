// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checks/catalogue.hpp"
#include "tests/checks/ask.hpp"
#include "tests/support/printers.hpp"

namespace muster::host_temperature_test {
namespace {

using ::testing::ElementsAre;

Findings judge(const Fact<std::vector<ThermalZone>>& zones) {
  Kernel kernel;
  kernel.thermal_zones = zones;
  const Snapshot snapshot{.identity = observed(Identity{}), .kernel = observed(std::move(kernel))};
  return ask(checks::host_temperature::check, snapshot, Profile{});
}

ThermalZone zone(double now) {
  return {.name = "thermal_zone3 (TH30)", .now_c = now, .critical_c = 105.0, .hot_c = 103.0};
}

TEST(HostTemperatureTest, AHotZoneBelowItsLimitIsWell) {
  EXPECT_THAT(judge(std::vector<ThermalZone>{zone(97.9), zone(40)}), ElementsAre(passes()));
}

TEST(HostTemperatureTest, WarnsShortOfTheLimitAndFailsAtIt) {
  EXPECT_EQ(judge(std::vector<ThermalZone>{zone(98)}).front().outcome, Outcome::warn);
  EXPECT_THAT(
      judge(std::vector<ThermalZone>{zone(103)}),
      ElementsAre(fails("thermal_zone3 (TH30)", Remedy::reseat_or_replace, {103.0, 103.0, "C"})));
}

TEST(HostTemperatureTest, SkipsZonesWithoutLimitOrTemperature) {
  auto without = zone(120);
  without.critical_c = 0.0;
  without.hot_c = Fact<double>::absent("none");
  EXPECT_EQ(judge(std::vector<ThermalZone>{without}).front().outcome, Outcome::skip);
  auto silent = zone(0);
  silent.now_c = Fact<double>::unreadable("No data available");
  EXPECT_EQ(judge(std::vector<ThermalZone>{silent}).front().outcome, Outcome::skip);
  using Zones = Fact<std::vector<ThermalZone>>;
  EXPECT_EQ(judge(Zones::absent("no zone")).front().outcome, Outcome::skip);
  EXPECT_EQ(judge(Zones::unreadable("Permission denied")).front().outcome, Outcome::unknown);
}

}  // namespace
}  // namespace muster::host_temperature_test
