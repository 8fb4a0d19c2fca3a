// SPDX-License-Identifier: Apache-2.0
// The clocks, the temperature and the power limit of GPUs.
#include "tests/checks/ask.hpp"
#include "tests/checks/gpu/linked_node.hpp"

namespace muster::gpu_clocks_test {
namespace {

constexpr AskedCheck judge_clocks{checks::gpu_clocks::check, linked_node::profile};

constexpr double kNow = 100000;

// The profile of the tests, with a limit for the time of slowdowns.
Profile limited() {
  Profile profile = linked_node::profile();
  profile.gpu->clocks.slowed_fail_above = Percent{10};
  return profile;
}

// An earlier run of this boot, ten minutes ago, saw the hardware limit the same clocks as now.
Snapshot held_by(std::uint64_t reasons) {
  Snapshot node = linked_node::node();
  node.identity->uptime_s = kNow;
  gpu_of(node, 0).clocks.reasons = reasons;
  for (const auto& each : node.nvml->gpus) {
    node.earlier.counters[fmt::format("gpu.{}.slowdown", each.address)] = {
        {.uptime_s = kNow - 600, .value = 1}};
  }
  return node;
}

Snapshot held_for_the_first_time(std::uint64_t reasons) {
  Snapshot node = held_by(reasons);
  node.earlier = {};
  return node;
}

// Slowed by heat for this many seconds of the last hour.
Snapshot slowed_for(double seconds) {
  Snapshot node = held_for_the_first_time(0x1);
  constexpr std::uint64_t kEarlierNs = 7000000000000;
  auto& gpu = gpu_of(node, 0);
  gpu.clocks.hardware_thermal_ns = kEarlierNs + static_cast<std::uint64_t>(seconds * 1e9);
  node.earlier.last_uptime_s = kNow - 300;
  node.earlier.counters[fmt::format("gpu.{}.hardware_thermal_ns", gpu.address)] = {
      {.uptime_s = kNow - 300, .value = kEarlierNs}};
  return node;
}

Expected held(Outcome outcome, const std::string& words) {
  return finds(outcome, "gpu0",
               outcome == Outcome::fail ? Remedy::report_to_provider : Remedy::watch,
               {words, "none"});
}

Expected hot(Outcome outcome, const std::string& words, const std::string& gpu = "gpu0") {
  return finds(outcome, gpu, held(outcome, words).finding.remedy, {words, "none"}, "NHC2017",
               {{"gpu.temperature", gpu}});
}

TEST(GpuClocksTest, PassesNormalReasons) {
  for (const std::uint64_t reasons : {0x0U, 0x1U, 0x2U, 0x4U, 0x10U, 0x100U, 0x117U}) {
    EXPECT_THAT(judge_clocks(held_by(reasons)), ElementsAre(passes())) << reasons;
  }
}

TEST(GpuClocksTest, AGpuAtWorkThatStaysSlowForNoReasonWarns) {
  Snapshot node = linked_node::node();
  auto& gpu = gpu_of(node, 1);
  gpu.utilisation = 100U;
  gpu.clocks.reasons = 0U;
  gpu.clocks.sm_mhz = 345U;
  EXPECT_EQ(judge_clocks(node).front(), warns("gpu1", Remedy::watch, {345.0, 1980.0, "MHz"}));
  gpu.clocks.reasons = 4U;  // the power cap: normal under load
  EXPECT_THAT(judge_clocks(node), ElementsAre(passes()));
  gpu.clocks.reasons = 0U;
  gpu.utilisation = 20U;
  EXPECT_THAT(judge_clocks(node), ElementsAre(passes()));
  gpu.utilisation = 100U;
  gpu.clocks.sm_mhz = 1200U;
  EXPECT_THAT(judge_clocks(node), ElementsAre(passes()));
}

TEST(GpuClocksTest, FailsHardwareSlowdowns) {
  for (const std::uint64_t reasons : {0x8U, 0xfU, 0x28U}) {
    EXPECT_THAT(judge_clocks(held_by(reasons)),
                ElementsAre(held(Outcome::fail, "hardware slowdown"), passes()))
        << reasons;
  }
  for (const std::uint64_t reasons : {0x80U, 0x88U}) {
    EXPECT_THAT(judge_clocks(held_by(reasons)),
                ElementsAre(held(Outcome::fail, "hardware power brake"), passes()))
        << reasons;
  }
}

TEST(GpuClocksTest, AMomentOfABusyGpuOnlyWarns) {
  for (const std::uint64_t reasons : {0x8U, 0x44U, 0x48U, 0x80U, 0x88U, 0xccU}) {
    const Finding found = judge_clocks(held_for_the_first_time(reasons)).front();
    EXPECT_EQ(found.outcome, Outcome::warn) << reasons;
    EXPECT_EQ(found.remedy, Remedy::watch) << reasons;
  }
  Snapshot all = held_for_the_first_time(0x88);
  gpu_of(all, 1).clocks.reasons = 0x88U;
  EXPECT_THAT(judge_clocks(all), ElementsAre(is(Outcome::warn, "node")));
}

TEST(GpuClocksTest, ARunAMomentAgoIsNotEnoughProof) {
  Snapshot node = held_by(0x48);
  for (auto& [key, changes] : node.earlier.counters) changes.back().uptime_s = kNow - 299;
  EXPECT_EQ(judge_clocks(node).front().outcome, Outcome::warn);
  for (auto& [key, changes] : node.earlier.counters) {
    changes = {{.uptime_s = kNow - 9000, .value = 1}, {.uptime_s = kNow - 600, .value = 0}};
  }
  EXPECT_EQ(judge_clocks(node).front().outcome, Outcome::warn);
}

TEST(GpuClocksTest, FailsByTheTimeThatTheHardwareTook) {
  EXPECT_THAT(judge_clocks(slowed_for(359), limited()), ElementsAre(passes()));
  EXPECT_EQ(judge_clocks(slowed_for(720), limited()).front(),
            hot(Outcome::fail, "hardware thermal slowdown"));
  EXPECT_THAT(judge_clocks(slowed_for(720), Profile{}), ElementsAre(passes()));
  Snapshot now = slowed_for(30);
  gpu_of(now, 0).clocks.reasons = 0x48U;
  now.earlier.counters[fmt::format("gpu.{}.slowdown", gpu_of(now, 0).address)] = {
      {.uptime_s = kNow - 600, .value = 1}};
  EXPECT_EQ(judge_clocks(now, limited()).front().outcome, Outcome::warn) << "the times know better";
}

TEST(GpuClocksTest, OlderDriversReportNoTimes) {
  Snapshot node = slowed_for(3600);
  node.nvml->driver = "575.57.08"s;
  EXPECT_THAT(judge_clocks(node, limited()), ElementsAre(passes()));
  node.nvml->driver = "580.65.06"s;
  EXPECT_EQ(judge_clocks(node, limited()).front().outcome, Outcome::fail);
}

TEST(GpuClocksTest, WithAnOlderDriverTheFirstLookWarnsAndALaterOneFails) {
  for (const std::uint64_t reasons : {0x8U, 0x9U, 0x48U, 0x88U}) {
    Snapshot first = held_for_the_first_time(reasons);
    first.nvml->driver = "535.161.08"s;
    gpu_of(first, 0).clocks.sm_mhz = 420U;
    EXPECT_EQ(judge_clocks(first).front().outcome, Outcome::warn) << reasons;
    EXPECT_THAT(judge_clocks(first).front().message, HasSubstr("does not report how long"));
    EXPECT_THAT(judge_clocks(first).front().message, HasSubstr("420 of 1980 MHz"));
    Snapshot later = held_by(reasons);
    later.nvml->driver = "535.161.08"s;
    EXPECT_EQ(judge_clocks(later).front().outcome, Outcome::fail) << reasons;
  }
}

TEST(GpuClocksTest, TheFirstRunGoesByTheTimeSinceTheBoot) {
  Snapshot node = held_for_the_first_time(0x1);
  auto& clocks = gpu_of(node, 0).clocks;
  clocks.power_brake_ns = 9000000000000U;
  EXPECT_THAT(judge_clocks(node, limited()), ElementsAre(passes()));
  clocks.power_brake_ns = 50000000000000U;
  EXPECT_EQ(judge_clocks(node, limited()).front(),
            fails("gpu0", Remedy::report_to_provider, {"hardware power brake", "none"}));
}

TEST(GpuClocksTest, HeatHasAFaultCodeAndIsOneFaultWithTheTemperature) {
  for (const std::uint64_t reasons : {0x40U, 0x48U, 0x68U}) {
    EXPECT_THAT(judge_clocks(held_by(reasons)),
                ElementsAre(hot(Outcome::fail, "hardware thermal slowdown"), passes()))
        << reasons;
  }
  EXPECT_EQ(judge_clocks(held_by(0xc8)).front(),
            hot(Outcome::fail, "hardware thermal slowdown and hardware power brake"));
  EXPECT_EQ(judge_clocks(held_by(0x24)).front(), hot(Outcome::warn, "software thermal slowdown"));
}

TEST(GpuClocksTest, OnBareMetalTheHardwareIsTheSites) {
  Snapshot node = held_by(0x48);
  node.identity->hypervisor = false;
  EXPECT_EQ(judge_clocks(node).front().remedy, Remedy::reseat_or_replace);
}

TEST(GpuClocksTest, ThePowerBrakeOfAllGpusIsTheNodes) {
  const Expected node_wide =
      fails("node", Remedy::report_to_provider, {"hardware power brake", "none"});
  Snapshot node = held_by(0x88);
  gpu_of(node, 1).clocks.reasons = 0x80U;
  EXPECT_THAT(judge_clocks(node), ElementsAre(node_wide));
  gpu_of(node, 1).clocks.reasons = 0xa0U;
  EXPECT_THAT(judge_clocks(node),
              ElementsAre(node_wide, hot(Outcome::warn, "software thermal slowdown", "gpu1")));
  gpu_of(node, 1).clocks.reasons = 0xc0U;
  EXPECT_EQ(judge_clocks(node).front(), held(Outcome::fail, "hardware power brake"));
}

TEST(GpuClocksTest, DoesNotKnowAReasonOfANewerDriver) {
  EXPECT_EQ(judge_clocks(held_by(0x200)).front(), warns("gpu0", Remedy::watch, {512}));
  EXPECT_EQ(judge_clocks(held_by(0x240)).front().outcome, Outcome::fail);
}

TEST(GpuClocksTest, WarnsOfLockedClocks) {
  Snapshot node = held_by(0x2);
  gpu_of(node, 0).clocks.application_sm_mhz = 1200U;
  EXPECT_THAT(judge_clocks(node, Profile{}),
              ElementsAre(warns("gpu0", Remedy::fix_config, {1200.0, 1980.0, "MHz"}), passes()));
  gpu_of(node, 0).clocks.default_sm_mhz = 1200U;
  EXPECT_THAT(judge_clocks(node, Profile{}), ElementsAre(passes()));
}

TEST(GpuClocksTest, HeatGoesBeforeLockedClocks) {
  Snapshot node = held_by(0x22);
  gpu_of(node, 0).clocks.application_sm_mhz = 1200U;
  EXPECT_THAT(judge_clocks(node),
              ElementsAre(hot(Outcome::warn, "software thermal slowdown"), passes()));
}

TEST(GpuClocksTest, DriversMayDoWithoutApplicationClocks) {
  Snapshot node = linked_node::node();
  auto& clocks = gpu_of(node, 0).clocks;
  clocks.default_sm_mhz = absent();
  EXPECT_THAT(judge_clocks(node, Profile{}), ElementsAre(passes()));
  clocks.application_sm_mhz = absent();
  EXPECT_THAT(judge_clocks(node), ElementsAre(passes()));
}

TEST(GpuClocksTest, IsUnknownForUnknownFacts) {
  Snapshot node = linked_node::node();
  auto& clocks = gpu_of(node, 0).clocks;
  clocks.application_sm_mhz = unreadable();
  EXPECT_EQ(judge_clocks(node).front(), unknown("gpu0"));
  clocks.application_sm_mhz = 1980U;
  clocks.default_sm_mhz = unreadable();
  EXPECT_THAT(judge_clocks(node), ElementsAre(passes()));
  EXPECT_EQ(judge_clocks(node, Profile{}).front(), unknown("gpu0"));
  clocks.reasons = unreadable();
  EXPECT_EQ(judge_clocks(node).front(), unknown("gpu0"));
  clocks.reasons = absent("Not Supported (3)");
  EXPECT_EQ(judge_clocks(node).front(), skips("gpu0"));
  clocks.application_sm_mhz = 1200U;
  EXPECT_EQ(judge_clocks(node).front().outcome, Outcome::warn);
}

constexpr AskedCheck judge_power{checks::gpu_power::check, gpu_node::profile};

TEST(GpuPowerTest, WithoutAnExpectationTheDefaultCounts) {
  Snapshot node = gpu_node::node();
  gpu_of(node, 0).power.enforced_mw = 500000U;
  EXPECT_EQ(judge_power(node, Profile{}).front(),
            warns("gpu0", Remedy::fix_config, {500.0, 700.0, "W"}));
}

TEST(GpuPowerTest, ALimitThatAllGpusShareIsTheSites) {
  Snapshot node = gpu_node::node();
  for (auto& gpu : node.nvml->gpus) {
    gpu.power.enforced_mw = 500000U;
    gpu.power.set_mw = 500000U;
  }
  EXPECT_THAT(judge_power(node, Profile{}), ElementsAre(passes()));
  EXPECT_EQ(judge_power(node).front().outcome, Outcome::warn);
  // Lowered without setting it.
  gpu_of(node, 1).power.set_mw = 700000U;
  EXPECT_EQ(judge_power(node, Profile{}).size(), 2U);
}

constexpr AskedCheck judge_temperature{checks::gpu_temperature::check, gpu_node::profile};

TEST(GpuTemperatureTest, TheWorstOfGpuAndMemoryCounts) {
  Snapshot node = gpu_node::node();
  gpu_of(node, 0).heat = {.gpu_c = 86, .memory_c = 106, .margin_c = 3};
  // HBM above 90 C is normal under load: the GPU's limit does not apply.
  gpu_of(node, 1).heat = {.gpu_c = 72, .memory_c = 92, .margin_c = 15};
  EXPECT_THAT(judge_temperature(node),
              ElementsAre(fails("gpu0", Remedy::report_to_provider, {106, 105.0, "C"}), passes()));
}

TEST(GpuTemperatureTest, IsUnknownIfOneTemperatureIs) {
  Snapshot node = gpu_node::node();
  gpu_of(node, 0).heat = {.gpu_c = 86, .memory_c = unreadable()};
  gpu_of(node, 1).heat = {.gpu_c = unreadable(), .memory_c = 41};
  EXPECT_THAT(judge_temperature(node), ElementsAre(unknown("gpu0"), unknown("gpu1")));
}

TEST(GpuTemperatureTest, MemoryIsJudgedByTheGpusOwnLimitIfTheProfileHasNone) {
  Snapshot node = gpu_node::node();
  auto profile = gpu_node::profile();
  profile.gpu->temperature.memory_fail_above.reset();
  gpu_of(node, 0).heat = {.gpu_c = 72, .memory_c = 94, .memory_max_c = 95, .margin_c = 15};
  EXPECT_THAT(judge_temperature(node, profile), ElementsAre(passes()));
  for (const int celsius : {95, 96}) {
    gpu_of(node, 0).heat.memory_c = celsius;
    EXPECT_EQ(judge_temperature(node, profile).front(),
              (fails("gpu0", Remedy::report_to_provider, {celsius, 95.0, "C"})));
  }
  gpu_of(node, 0).heat.memory_max_c = 105;
  EXPECT_EQ(judge_temperature(node, profile).front().outcome, Outcome::warn);
}

TEST(GpuTemperatureTest, FailsAtAndAboveTheGpusOwnSlowdown) {
  for (const int above : {0, 8}) {
    Snapshot node = gpu_node::node();
    gpu_of(node, 1).heat = {.gpu_c = 89 + above, .memory_c = 60, .margin_c = -above};
    auto profile = gpu_node::profile();
    profile.gpu->temperature = {};
    EXPECT_EQ(judge_temperature(node, profile).front(),
              (fails("gpu1", Remedy::report_to_provider, {-above, 0.0, "C"})));
  }
}

TEST(GpuTemperatureTest, FailsAHotPartEvenIfTheOtherIsUnknown) {
  Snapshot node = gpu_node::bare_metal();
  gpu_of(node, 0).heat = {.gpu_c = 97, .memory_c = unreadable()};
  gpu_of(node, 1).heat = {.gpu_c = unreadable(), .memory_c = 106};
  EXPECT_THAT(judge_temperature(node),
              ElementsAre(fails("gpu0", Remedy::reseat_or_replace, {97, 90.0, "C"}),
                          fails("gpu1", Remedy::reseat_or_replace, {106, 105.0, "C"})));
}

}  // namespace
}  // namespace muster::gpu_clocks_test
