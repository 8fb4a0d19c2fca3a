// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checks/catalogue.hpp"
#include "tests/checks/ask.hpp"
#include "tests/checks/gpu/linked_node.hpp"
#include "tests/support/printers.hpp"

namespace muster::gpu_clocks_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Findings judge(const Snapshot& snapshot, const Profile& profile = linked_node::profile()) {
  return ask(checks::gpu_clocks::check, snapshot, profile);
}

Finding well(std::string_view gpus) {
  return {.device = "node",
          .outcome = Outcome::pass,
          .message = fmt::format("{} with free clocks", gpus)};
}

constexpr double kNow = 100000;

// An earlier run of this boot, ten minutes ago, saw the hardware hold down what it holds down now.
Snapshot held_by(std::uint64_t reasons) {
  Snapshot node = linked_node::node();
  node.identity->uptime_s = kNow;
  gpu_node::gpu(node, 0).clocks.reasons = reasons;
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

// Of the last hour, by the driver's time of slowdowns for heat.
Snapshot slowed_for(double seconds) {
  Snapshot node = held_for_the_first_time(0x1);
  constexpr std::uint64_t kEarlierNs = 7000000000000;
  auto& gpu = gpu_node::gpu(node, 0);
  gpu.clocks.hardware_thermal_ns = kEarlierNs + static_cast<std::uint64_t>(seconds * 1e9);
  node.earlier.last_uptime_s = kNow - 300;
  node.earlier.counters[fmt::format("gpu.{}.hardware_thermal_ns", gpu.address)] = {
      {.uptime_s = kNow - 300, .value = kEarlierNs}};
  return node;
}

Finding held(Outcome outcome, const std::string& words, Remedy remedy) {
  return {.device = "gpu0",
          .outcome = outcome,
          .message = fmt::format(
              "the clocks are held down by {}{}, now at 345 of 1980 MHz (serial 165092300)", words,
              outcome == Outcome::fail ? ", as an earlier run saw it, too" : ""),
          .observed = words,
          .limit = std::string("none"),
          .remedy = remedy};
}

Finding hot(Outcome outcome, const std::string& words, Remedy remedy) {
  Finding finding = held(outcome, words, remedy);
  finding.code = "NHC2017";
  finding.seen_by = {{.check = "gpu.temperature", .device = "gpu0"}};
  return finding;
}

TEST(GpuClocksTest, PassesWhatIsNormal) {
  for (const std::uint64_t reasons : {0x0U, 0x1U, 0x2U, 0x4U, 0x10U, 0x100U, 0x117U}) {
    EXPECT_THAT(judge(held_by(reasons)), ElementsAre(well("2 GPUs"))) << reasons;
  }
}

TEST(GpuClocksTest, AGpuAtWorkThatStaysSlowForNoReasonWarns) {
  Snapshot node = linked_node::node();
  auto& gpu = gpu_node::gpu(node, 1);
  gpu.utilisation = 100U;
  gpu.clocks.reasons = std::uint64_t{0};
  gpu.clocks.sm_mhz = 345U;
  EXPECT_EQ(judge(node).front().device, "gpu1");
  EXPECT_EQ(judge(node).front().outcome, Outcome::warn);
  EXPECT_THAT(judge(node).front().message, HasSubstr("works at 345 of 1980 MHz"));
  gpu.clocks.reasons = std::uint64_t{4};  // the power cap: normal under load
  EXPECT_THAT(judge(node), ElementsAre(well("2 GPUs")));
  gpu.clocks.reasons = std::uint64_t{0};
  gpu.utilisation = 20U;
  EXPECT_THAT(judge(node), ElementsAre(well("2 GPUs")));
  gpu.utilisation = 100U;
  gpu.clocks.sm_mhz = 1200U;
  EXPECT_THAT(judge(node), ElementsAre(well("2 GPUs")));
}

TEST(GpuClocksTest, FailsWhatTheHardwareDoes) {
  for (const std::uint64_t reasons : {0x8U, 0xfU, 0x28U}) {
    EXPECT_THAT(judge(held_by(reasons)),
                ElementsAre(held(Outcome::fail, "hardware slowdown", Remedy::report_to_provider),
                            well("1 GPU")))
        << reasons;
  }
  for (const std::uint64_t reasons : {0x80U, 0x88U}) {
    EXPECT_THAT(judge(held_by(reasons)),
                ElementsAre(held(Outcome::fail, "hardware power brake", Remedy::report_to_provider),
                            well("1 GPU")))
        << reasons;
  }
}

TEST(GpuClocksTest, AMomentOfABusyGpuOnlyWarns) {
  for (const std::uint64_t reasons : {0x8U, 0x44U, 0x48U, 0x80U, 0x88U, 0xccU}) {
    const Finding found = judge(held_for_the_first_time(reasons)).front();
    EXPECT_EQ(found.outcome, Outcome::warn) << reasons;
    EXPECT_EQ(found.remedy, Remedy::watch) << reasons;
    EXPECT_THAT(found.message, HasSubstr(", at this moment, now at ")) << reasons;
  }
  Snapshot all = held_for_the_first_time(0x88);
  gpu_node::gpu(all, 1).clocks.reasons = 0x88U;
  EXPECT_EQ(judge(all).front().outcome, Outcome::warn);
  EXPECT_EQ(judge(all).front().device, "node");
}

TEST(GpuClocksTest, WhatAnEarlierRunSawAMomentAgoIsNoProof) {
  Snapshot node = held_by(0x48);
  for (auto& [key, changes] : node.earlier.counters) changes.back().uptime_s = kNow - 299;
  EXPECT_EQ(judge(node).front().outcome, Outcome::warn);
  for (auto& [key, changes] : node.earlier.counters) {
    changes = {{.uptime_s = kNow - 9000, .value = 1}, {.uptime_s = kNow - 600, .value = 0}};
  }
  EXPECT_EQ(judge(node).front().outcome, Outcome::warn);
}

TEST(GpuClocksTest, FailsByTheTimeThatTheHardwareTook) {
  Profile profile = linked_node::profile();
  profile.gpu->clocks.slowed_fail_above = Percent{10};
  EXPECT_THAT(judge(slowed_for(359), profile), ElementsAre(well("2 GPUs")));
  const Finding found = judge(slowed_for(720), profile).front();
  EXPECT_EQ(found.outcome, Outcome::fail);
  EXPECT_EQ(found.code, "NHC2017");
  EXPECT_THAT(found.message,
              HasSubstr("held down by hardware thermal slowdown, 20% of 60 min, now at"));
  EXPECT_THAT(judge(slowed_for(720), Profile{}), ElementsAre(well("2 GPUs")));
  Snapshot now = slowed_for(30);
  gpu_node::gpu(now, 0).clocks.reasons = 0x48U;
  now.earlier.counters[fmt::format("gpu.{}.slowdown", gpu_node::gpu(now, 0).address)] = {
      {.uptime_s = kNow - 600, .value = 1}};
  EXPECT_EQ(judge(now, profile).front().outcome, Outcome::warn) << "the times know better";
}

TEST(GpuClocksTest, OlderDriversTellNoTimes) {
  Profile profile = linked_node::profile();
  profile.gpu->clocks.slowed_fail_above = Percent{10};
  Snapshot node = slowed_for(3600);
  node.nvml->driver = std::string("575.57.08");
  EXPECT_THAT(judge(node, profile), ElementsAre(well("2 GPUs")));
  node.nvml->driver = std::string("580.65.06");
  EXPECT_EQ(judge(node, profile).front().outcome, Outcome::fail);
}

TEST(GpuClocksTest, TheFirstRunGoesByTheTimeSinceTheBoot) {
  Profile profile = linked_node::profile();
  profile.gpu->clocks.slowed_fail_above = Percent{10};
  Snapshot node = held_for_the_first_time(0x1);
  auto& clocks = gpu_node::gpu(node, 0).clocks;
  clocks.power_brake_ns = 9000000000000U;
  EXPECT_THAT(judge(node, profile), ElementsAre(well("2 GPUs")));
  clocks.power_brake_ns = 50000000000000U;
  EXPECT_EQ(judge(node, profile).front().outcome, Outcome::fail);
  EXPECT_THAT(judge(node, profile).front().message, HasSubstr("power brake, 50% of 28 h"));
}

TEST(GpuClocksTest, HeatHasAFaultCodeAndIsOneFaultWithTheTemperature) {
  for (const std::uint64_t reasons : {0x40U, 0x48U, 0x68U}) {
    EXPECT_THAT(judge(held_by(reasons)), ElementsAre(hot(Outcome::fail, "hardware thermal slowdown",
                                                         Remedy::report_to_provider),
                                                     well("1 GPU")))
        << reasons;
  }
  EXPECT_EQ(judge(held_by(0xc8)).front(),
            hot(Outcome::fail, "hardware thermal slowdown and hardware power brake",
                Remedy::report_to_provider));
  EXPECT_EQ(judge(held_by(0x24)).front(),
            hot(Outcome::warn, "software thermal slowdown", Remedy::watch));
}

TEST(GpuClocksTest, OnBareMetalTheHardwareIsTheSites) {
  Snapshot node = held_by(0x48);
  node.identity->hypervisor = false;
  EXPECT_EQ(judge(node).front().remedy, Remedy::reseat_or_replace);
}

TEST(GpuClocksTest, WithoutClocksTheMessageHasNone) {
  Snapshot node = held_by(0x8);
  gpu_node::gpu(node, 0).clocks.sm_mhz = Fact<unsigned>::absent("Not Supported (3)");
  EXPECT_EQ(judge(node).front().message,
            "the clocks are held down by hardware slowdown, as an earlier run saw it, too (serial "
            "165092300)");
}

TEST(GpuClocksTest, ThePowerBrakeOfAllGpusIsTheNodes) {
  const Finding node_wide{.device = "node",
                          .outcome = Outcome::fail,
                          .message =
                              "the clocks of all 2 GPUs are held down by the hardware power "
                              "brake, as an earlier run saw it, too: the node's power supply or "
                              "its power shelf",
                          .observed = std::string("hardware power brake"),
                          .limit = std::string("none"),
                          .remedy = Remedy::report_to_provider};
  Snapshot node = held_by(0x88);
  gpu_node::gpu(node, 1).clocks.reasons = 0x80U;
  EXPECT_THAT(judge(node), ElementsAre(node_wide));
  gpu_node::gpu(node, 1).clocks.reasons = 0xa0U;
  Finding warm = hot(Outcome::warn, "software thermal slowdown", Remedy::watch);
  warm.device = "gpu1";
  warm.message =
      "the clocks are held down by software thermal slowdown, now at 345 of 1980 MHz (serial "
      "165092301)";
  warm.seen_by.front().device = "gpu1";
  EXPECT_THAT(judge(node), ElementsAre(node_wide, warm));
  gpu_node::gpu(node, 1).clocks.reasons = 0xc0U;
  EXPECT_EQ(judge(node).front(),
            held(Outcome::fail, "hardware power brake", Remedy::report_to_provider));
}

TEST(GpuClocksTest, DoesNotKnowAReasonOfANewerDriver) {
  const Finding found = judge(held_by(0x200)).front();
  EXPECT_EQ(found.outcome, Outcome::warn);
  EXPECT_EQ(found.observed, (Finding{.observed = std::int64_t{0x200}}.observed));
  EXPECT_THAT(found.message,
              HasSubstr("held down for a reason that this muster does not know (bits 0x200)"));
  EXPECT_EQ(judge(held_by(0x240)).front().outcome, Outcome::fail);
}

Finding locked(unsigned mhz, std::string message) {
  return {.device = "gpu0",
          .outcome = Outcome::warn,
          .message = fmt::format("{} (serial 165092300)", message),
          .observed = static_cast<double>(mhz),
          .limit = 1980.0,
          .unit = "MHz",
          .remedy = Remedy::fix_config};
}

TEST(GpuClocksTest, WarnsOfLockedClocks) {
  Snapshot node = held_by(0x2);
  gpu_node::gpu(node, 0).clocks.application_sm_mhz = 1200U;
  EXPECT_THAT(judge(node),
              ElementsAre(locked(1200,
                                 "the clocks are locked: 1200 MHz for applications, expected 1980 "
                                 "MHz"),
                          well("1 GPU")));
  EXPECT_THAT(judge(node, Profile{}),
              ElementsAre(locked(1200,
                                 "the clocks are locked: 1200 MHz for applications, by default it "
                                 "is 1980 MHz"),
                          well("1 GPU")));
  gpu_node::gpu(node, 0).clocks.default_sm_mhz = 1200U;
  EXPECT_THAT(judge(node, Profile{}), ElementsAre(well("2 GPUs")));
}

TEST(GpuClocksTest, HeatGoesBeforeLockedClocks) {
  Snapshot node = held_by(0x22);
  gpu_node::gpu(node, 0).clocks.application_sm_mhz = 1200U;
  EXPECT_THAT(
      judge(node),
      ElementsAre(hot(Outcome::warn, "software thermal slowdown", Remedy::watch), well("1 GPU")));
}

TEST(GpuClocksTest, DriversMayDoWithoutApplicationClocks) {
  Snapshot node = linked_node::node();
  auto& clocks = gpu_node::gpu(node, 0).clocks;
  clocks.default_sm_mhz = Fact<unsigned>::absent("Deprecated (26)");
  EXPECT_THAT(judge(node, Profile{}), ElementsAre(well("2 GPUs")));
  clocks.application_sm_mhz = Fact<unsigned>::absent("Deprecated (26)");
  EXPECT_THAT(judge(node), ElementsAre(well("2 GPUs")));
}

TEST(GpuClocksTest, SaysWhatIsNotKnown) {
  const auto untold = [](Outcome outcome, std::string message) {
    return Finding{.device = "gpu0", .outcome = outcome, .message = std::move(message)};
  };
  Snapshot node = linked_node::node();
  auto& clocks = gpu_node::gpu(node, 0).clocks;
  clocks.application_sm_mhz = Fact<unsigned>::unreadable("N/A");
  EXPECT_EQ(judge(node).front(),
            untold(Outcome::unknown, "the clock for applications is not known: N/A"));
  clocks.application_sm_mhz = 1980U;
  clocks.default_sm_mhz = Fact<unsigned>::unreadable("N/A");
  EXPECT_THAT(judge(node), ElementsAre(well("2 GPUs")));
  EXPECT_EQ(judge(node, Profile{}).front(),
            untold(Outcome::unknown, "the default clock for applications is not known: N/A"));
  clocks.reasons = Fact<std::uint64_t>::unreadable("Unknown Error (999)");
  EXPECT_EQ(
      judge(node).front(),
      untold(Outcome::unknown, "what holds the clocks down is not known: Unknown Error (999)"));
  clocks.reasons = Fact<std::uint64_t>::absent("Not Supported (3)");
  EXPECT_EQ(judge(node).front(),
            untold(Outcome::skip, "what holds the clocks down is not known: Not Supported (3)"));
  clocks.application_sm_mhz = 1200U;
  EXPECT_EQ(judge(node).front().outcome, Outcome::warn);
}

}  // namespace
}  // namespace muster::gpu_clocks_test
