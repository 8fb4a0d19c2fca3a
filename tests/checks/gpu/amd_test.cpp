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
  EXPECT_THAT(judge(node()), ElementsAre(passes()));
  EXPECT_EQ(judge(Snapshot{.pci = observed(Pci{})}).front().outcome, Outcome::skip);
}

TEST(GpuAmdTest, MissingFactsOfVirtualMachinesAreNotJudged) {
  auto snapshot = node();
  for (auto& each : snapshot.pci->amd_gpus) {
    each = {.address = each.address, .memory_bytes = each.memory_bytes};
  }
  EXPECT_THAT(judge(snapshot), ElementsAre(passes()));
}

TEST(GpuAmdTest, FailsAGpuAtItsOwnLimitAndWarnsShortBefore) {
  auto snapshot = node();
  gpu(snapshot, 2).temperatures->front().now_c = 100;
  gpu(snapshot, 3).temperatures->back().now_c = 100.5;
  EXPECT_THAT(judge(snapshot),
              ElementsAre(fails("0002:00:00.0", Remedy::report_to_provider, {100.0, 100.0, "C"}),
                          ::testing::Field(&Finding::outcome, Outcome::warn)));
}

TEST(GpuAmdTest, FailsPagesThatWaitForAResetOrCouldNotBeTakenOut) {
  auto snapshot = node();
  gpu(snapshot, 1).bad_pages->pending = 2;
  gpu(snapshot, 1).serial = std::string("9c31");
  gpu(snapshot, 4).bad_pages->failed = 1;
  gpu(snapshot, 5).bad_pages->retired = 7;
  EXPECT_THAT(judge(snapshot),
              ElementsAre(fails("0001:00:00.0", Remedy::reboot),
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
  EXPECT_EQ(judge(snapshot).front(),
            fails("0007:00:00.0", Remedy::report_to_provider, {"nothing", "0x3f2a"}));
  snapshot = node();
  gpu(snapshot, 0).compute_partition = std::string("CPX");
  EXPECT_EQ(judge(snapshot).front().outcome, Outcome::warn);
  snapshot = node();
  gpu(snapshot, 0).memory_bytes = std::uint64_t{96} << 30U;
  EXPECT_EQ(judge(snapshot).front().outcome, Outcome::fail);
}

TEST(GpuAmdTest, ComparesOnlyThreeOrMoreGpusOfOneKind) {
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

TEST(GpuAmdTest, MemoryInUseWarnsOnlyOnIdleNodes) {
  auto snapshot = node();
  gpu(snapshot, 3).memory_used_bytes = std::uint64_t{90} << 30U;
  Profile profile;
  profile.gpu->memory_used.fail_above = Bytes{1024.0 * 1024 * 1024};
  EXPECT_EQ(judge(snapshot, profile).front().outcome, Outcome::pass);
  const Context epilog{.gpus_idle = true};
  EXPECT_EQ(judge(snapshot, profile, epilog).front(),
            warns("0003:00:00.0", Remedy::restart_app, {96636764160.0, 1073741824.0, "B"}));
}

}  // namespace
}  // namespace muster::gpu_amd_test
