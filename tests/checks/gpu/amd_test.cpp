// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checks/catalogue.hpp"
#include "lib/profile/limits/gpu.hpp"
#include "tests/checks/ask.hpp"
#include "tests/support/printers.hpp"

namespace muster::gpu_amd_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Snapshot node() {
  Snapshot snapshot;
  snapshot.identity = observed(Identity{.hypervisor = true});
  Pci pci;
  for (int i = 0; i < 8; ++i) {
    AmdGpu gpu{.address = fmt::format("000{}:00:00.0", i)};
    gpu.memory_bytes = std::uint64_t{192} << 30U;
    gpu.memory_used_bytes = std::uint64_t{300} << 20U;
    gpu.bad_pages = AmdBadPages{};
    gpu.compute_partition = std::string("SPX");
    gpu.hive = std::string("0x3f2a");
    gpu.temperatures =
        std::vector<AmdSensor>{{.name = "junction", .now_c = 94, .critical_c = 100.0},
                               {.name = "mem", .now_c = 60, .critical_c = 105.0}};
    gpu.power_cap_w = 750;
    gpu.power_cap_default_w = 750;
    pci.amd_gpus.push_back(gpu);
  }
  snapshot.pci = observed(std::move(pci));
  return snapshot;
}

AmdGpu& gpu(Snapshot& snapshot, std::size_t index) { return snapshot.pci->amd_gpus.at(index); }

Findings judge(const Snapshot& snapshot, const Profile& by = {}, const Context& context = {}) {
  return ask(checks::gpu_amd::check, snapshot, by, context);
}

TEST(GpuAmdTest, BusyGpusAreWell) {
  EXPECT_THAT(judge(node()),
              ElementsAre(Finding{.device = "node",
                                  .outcome = Outcome::pass,
                                  .message = "8 AMD GPUs cool, whole and set up alike"}));
  EXPECT_EQ(judge(Snapshot{.pci = observed(Pci{})}).front().outcome, Outcome::skip);
}

TEST(GpuAmdTest, WhatAVirtualFunctionDoesNotTellIsNotJudged) {
  auto snapshot = node();
  for (auto& each : snapshot.pci->amd_gpus) {
    each = {.address = each.address, .memory_bytes = each.memory_bytes};
  }
  EXPECT_THAT(judge(snapshot), ElementsAre(Finding{.device = "node",
                                                   .outcome = Outcome::pass,
                                                   .message = "8 AMD GPUs cool, whole and set up "
                                                              "alike"}));
}

TEST(GpuAmdTest, FailsAGpuAtItsOwnLimitAndWarnsShortBefore) {
  auto snapshot = node();
  gpu(snapshot, 2).temperatures->front().now_c = 100;
  gpu(snapshot, 3).temperatures->back().now_c = 100.5;
  EXPECT_THAT(judge(snapshot),
              ElementsAre(Finding{.device = "0002:00:00.0",
                                  .outcome = Outcome::fail,
                                  .message = "the GPU at 0002:00:00.0 is at 100 C (junction), its "
                                             "own limit is 100 C",
                                  .observed = 100.0,
                                  .limit = 100.0,
                                  .unit = "C",
                                  .remedy = Remedy::report_to_provider},
                          ::testing::Field(&Finding::outcome, Outcome::warn)));
}

TEST(GpuAmdTest, FailsPagesThatWaitForAResetOrCouldNotBeTakenOut) {
  auto snapshot = node();
  gpu(snapshot, 1).bad_pages->pending = 2;
  gpu(snapshot, 1).serial = std::string("9c31");
  gpu(snapshot, 4).bad_pages->failed = 1;
  gpu(snapshot, 5).bad_pages->retired = 7;
  EXPECT_THAT(judge(snapshot),
              ElementsAre(Finding{.device = "0001:00:00.0",
                                  .outcome = Outcome::fail,
                                  .message = "the GPU at 0001:00:00.0 has 2 bad pages to be taken "
                                             "out of use by a reset (serial 9c31)",
                                  .remedy = Remedy::reboot},
                          ::testing::Field(&Finding::remedy, Remedy::report_to_provider)));
}

TEST(GpuAmdTest, OneWithALowerPowerLimitWarnsAndALimitOfAllIsTheSites) {
  auto snapshot = node();
  gpu(snapshot, 6).power_cap_w = 400;
  EXPECT_THAT(judge(snapshot), ElementsAre(::testing::Field(&Finding::device, "0006:00:00.0")));
  EXPECT_EQ(judge(snapshot).front().outcome, Outcome::warn);
  for (auto& each : snapshot.pci->amd_gpus) each.power_cap_w = 400;
  EXPECT_EQ(judge(snapshot).front().outcome, Outcome::pass);
}

TEST(GpuAmdTest, WarnsOfALinkThatSendsPacketsAgainAndAgain) {
  auto snapshot = node();
  snapshot.identity->uptime_s = 86400.0;
  snapshot.earlier.last_uptime_s = 82800;
  for (auto& each : snapshot.pci->amd_gpus) {
    each.replays = std::uint64_t{100};
    snapshot.pci->devices.push_back({.address = each.address,
                                     .kind = PciKind::gpu,
                                     .link_speed_max_gts = 32.0,
                                     .link_width = 16U});
    snapshot.earlier.counters[fmt::format("gpu.{}.pcie_replays", each.address)] = {
        {.uptime_s = 82800, .value = 100}};
  }
  EXPECT_EQ(judge(snapshot).front().outcome, Outcome::pass);
  gpu(snapshot, 3).replays = std::uint64_t{100 + 1800};  // 30 a minute, below 30.7
  EXPECT_EQ(judge(snapshot).front().outcome, Outcome::pass);
  gpu(snapshot, 3).replays = std::uint64_t{100 + 1900};
  ASSERT_EQ(judge(snapshot).size(), 1U);
  EXPECT_EQ(judge(snapshot).front().device, "0003:00:00.0");
  EXPECT_EQ(judge(snapshot).front().outcome, Outcome::warn);
}

TEST(GpuAmdTest, TheOddOneOutIsFound) {
  auto snapshot = node();
  gpu(snapshot, 7).hive = Fact<std::string>::absent("no such file");
  ASSERT_EQ(judge(snapshot).size(), 1U);
  EXPECT_EQ(judge(snapshot).front().outcome, Outcome::fail);
  EXPECT_THAT(judge(snapshot).front().message, HasSubstr("xGMI hive nothing, but 0x3f2a on 7 of"));
  snapshot = node();
  gpu(snapshot, 0).compute_partition = std::string("CPX");
  EXPECT_EQ(judge(snapshot).front().outcome, Outcome::warn);
  snapshot = node();
  gpu(snapshot, 0).memory_bytes = std::uint64_t{96} << 30U;
  EXPECT_EQ(judge(snapshot).front().outcome, Outcome::fail);
}

TEST(GpuAmdTest, GpusOfAnotherKindAreNoSistersAndOfTwoNobodyIsAccused) {
  auto snapshot = node();
  snapshot.pci->amd_gpus.resize(2);
  gpu(snapshot, 1).memory_bytes = std::uint64_t{1} << 29U;
  EXPECT_THAT(judge(snapshot), ElementsAre(::testing::Field(&Finding::outcome, Outcome::warn)));
  for (unsigned i = 0; i < 2; ++i) {
    snapshot.pci->devices.push_back({.address = gpu(snapshot, i).address,
                                     .kind = PciKind::gpu,
                                     .vendor = 0x1002,
                                     .device = 0x74a1 + i});
  }
  EXPECT_EQ(judge(snapshot).front().outcome, Outcome::pass);
}

TEST(GpuAmdTest, MemoryInUseWarnsOnlyWhereNobodyComputes) {
  auto snapshot = node();
  gpu(snapshot, 3).memory_used_bytes = std::uint64_t{90} << 30U;
  Profile profile;
  profile.gpu->memory_used.fail_above = Bytes{1024.0 * 1024 * 1024};
  EXPECT_EQ(judge(snapshot, profile).front().outcome, Outcome::pass);
  const Context epilog{.gpus_idle = true};
  EXPECT_THAT(judge(snapshot, profile, epilog).front().message,
              HasSubstr("has 90.0 GiB of memory in use with no job on the node"));
}

}  // namespace
}  // namespace muster::gpu_amd_test
