// SPDX-License-Identifier: Apache-2.0
// AMD GPUs.
#include <set>

#include "tests/checks/ask.hpp"

namespace muster::gpu_amd_test {
namespace {

Snapshot amd_node() {
  Snapshot snapshot;
  snapshot.identity = observed(Identity{.hypervisor = true});
  Pci pci;
  for (int i = 0; i < 8; ++i) {
    AmdGpu gpu{.address = fmt::format("000{}:00:00.0", i)};
    gpu.memory_bytes = std::uint64_t{192} << 30U;
    gpu.memory_used_bytes = std::uint64_t{300} << 20U;
    gpu.bad_pages = AmdBadPages{};
    gpu.compute_partition = "SPX"s;
    gpu.hive = "0x3f2a"s;
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

Findings judge_amd(const Snapshot& snapshot, const Profile& by = {}, const Context& context = {}) {
  return ask(checks::gpu_amd::check, snapshot, by, context);
}

TEST(GpuAmdTest, PassesBusyGpusWithRetiredPages) {
  auto snapshot = amd_node();
  gpu(snapshot, 5).bad_pages->retired = 7;
  EXPECT_THAT(judge_amd(snapshot), ElementsAre(passes()));
  EXPECT_EQ(judge_amd(Snapshot{.pci = observed(Pci{})}).front().outcome, Outcome::skip);
}

TEST(GpuAmdTest, MissingFactsOfVirtualMachinesAreNotJudged) {
  auto snapshot = amd_node();
  for (auto& each : snapshot.pci->amd_gpus) {
    each = {.address = each.address, .memory_bytes = each.memory_bytes};
  }
  EXPECT_THAT(judge_amd(snapshot), ElementsAre(passes()));
}

// Facts that no check judges are left out.
TEST(GpuAmdTest, AFactThatCouldNotBeReadIsUnknown) {
  for_each_field<AmdGpu>([](const auto& field) {
    auto snapshot = amd_node();
    auto& fact = gpu(snapshot, 3).*field.member;
    if constexpr (requires { fact.is_unreadable(); }) {
      fact = unreadable();
      const std::set<std::string_view> not_judged{"ras", "serial", "utilisation", "power_w"};
      EXPECT_THAT(judge_amd(snapshot),
                  ElementsAre(not_judged.contains(field.name) ? passes() : unknown("0003:00:00.0")))
          << field.name;
    }
  });
}

TEST(GpuAmdTest, FailsAGpuAtItsOwnLimitAndWarnsShortBefore) {
  auto snapshot = amd_node();
  gpu(snapshot, 2).temperatures->front().now_c = 100;
  gpu(snapshot, 3).temperatures->back().now_c = 100.5;
  EXPECT_THAT(judge_amd(snapshot),
              ElementsAre(fails("0002:00:00.0", Remedy::report_to_provider, {100.0, 100.0, "C"}),
                          is(Outcome::warn)));
}

TEST(GpuAmdTest, ALowerPowerLimitOfAllGpusIsTheSites) {
  auto snapshot = amd_node();
  for (auto& each : snapshot.pci->amd_gpus) each.power_cap_w = 400;
  EXPECT_EQ(judge_amd(snapshot).front().outcome, Outcome::pass);
}

TEST(GpuAmdTest, WarnsOfALinkThatSendsPacketsAgainAndAgain) {
  auto snapshot = amd_node();
  snapshot.identity->uptime_s = 86400.0;
  snapshot.earlier.last_uptime_s = 82800;
  for (auto& each : snapshot.pci->amd_gpus) {
    each.replays = 100U;
    snapshot.pci->devices.push_back({.address = each.address,
                                     .kind = PciKind::gpu,
                                     .link_speed_max_gts = 32.0,
                                     .link_width = 16U});
    snapshot.earlier.counters[fmt::format("gpu.{}.pcie_replays", each.address)] = {
        {.uptime_s = 82800, .value = 100}};
  }
  EXPECT_EQ(judge_amd(snapshot).front().outcome, Outcome::pass);
  gpu(snapshot, 3).replays = std::uint64_t{100 + 1800};  // 30 a minute, below 30.7
  EXPECT_EQ(judge_amd(snapshot).front().outcome, Outcome::pass);
  gpu(snapshot, 3).replays = std::uint64_t{100 + 1900};
  EXPECT_THAT(judge_amd(snapshot), ElementsAre(is(Outcome::warn, "0003:00:00.0")));
  gpu(snapshot, 3).replays = std::uint64_t{0xffffffff};
  EXPECT_EQ(judge_amd(snapshot).front(), warns("0003:00:00.0", Remedy::watch, {4294967295}));
}

TEST(GpuAmdTest, TheOddOneOutIsFound) {
  auto snapshot = amd_node();
  gpu(snapshot, 7).hive = absent();
  EXPECT_THAT(judge_amd(snapshot), ElementsAre(fails("0007:00:00.0", Remedy::report_to_provider,
                                                     {"not reported", "0x3f2a"})));
  snapshot = amd_node();
  gpu(snapshot, 0).memory_bytes = std::uint64_t{96} << 30U;
  EXPECT_EQ(judge_amd(snapshot).front().outcome, Outcome::fail);
}

TEST(GpuAmdTest, ComparesOnlyThreeOrMoreGpusOfOneKind) {
  auto snapshot = amd_node();
  snapshot.pci->amd_gpus.resize(2);
  gpu(snapshot, 1).memory_bytes = std::uint64_t{1} << 29U;
  EXPECT_THAT(judge_amd(snapshot), ElementsAre(is(Outcome::warn)));
  for (unsigned i = 0; i < 2; ++i) {
    snapshot.pci->devices.push_back({.address = gpu(snapshot, i).address,
                                     .kind = PciKind::gpu,
                                     .vendor = 0x1002,
                                     .device = 0x74a1 + i});
  }
  EXPECT_EQ(judge_amd(snapshot).front().outcome, Outcome::pass);
}

TEST(GpuAmdTest, MemoryInUseWarnsOnlyOnIdleNodes) {
  auto snapshot = amd_node();
  gpu(snapshot, 3).memory_used_bytes = std::uint64_t{90} << 30U;
  Profile profile;
  profile.gpu->memory_used.fail_above = Bytes{1024.0 * 1024 * 1024};
  EXPECT_EQ(judge_amd(snapshot, profile).front().outcome, Outcome::pass);
  const Context epilog{.gpus_idle = true};
  EXPECT_EQ(judge_amd(snapshot, profile, epilog).front(),
            warns("0003:00:00.0", Remedy::restart_app, {96636764160.0, 1073741824.0, "B"}));
}

constexpr std::uint64_t kMemory = 206141652992;

Snapshot ras_node() {
  Snapshot snapshot;
  snapshot.identity = observed(Identity{.hypervisor = true});
  Pci pci;
  for (const auto* address : {"0002:00:00.0", "0003:00:00.0"}) {
    PciDevice device{.address = address, .kind = PciKind::gpu, .vendor = 0x1002, .device = 0x74b5};
    device.driver = "amdgpu";
    device.responding = true;
    pci.devices.push_back(device);
    AmdGpu gpu{.address = address};
    gpu.memory_bytes = kMemory;
    gpu.ras = std::map<std::string, RasCounts>{{"gfx", {}}, {"umc", {.corrected = 3}}};
    pci.amd_gpus.push_back(gpu);
  }
  snapshot.pci = observed(std::move(pci));
  return snapshot;
}

Profile profile() {
  Profile profile;
  profile.gpu->present.count = 2;
  profile.gpu->present.vendor = GpuVendor::amd;
  profile.gpu->present.memory = Bytes{static_cast<double>(kMemory)};
  profile.gpu->present.tolerance = Percent{2};
  return profile;
}

constexpr AskedCheck judge_ras{checks::gpu_ras::check, profile};

RasCounts& umc(Snapshot& snapshot) { return (*snapshot.pci->amd_gpus.at(1).ras)["umc"]; }

TEST(GpuRasTest, WarnsOfManyCorrectedErrorsIfALimitIsSet) {
  Snapshot many = ras_node();
  umc(many).corrected = 101;
  EXPECT_THAT(judge_ras(many), ElementsAre(passes()));
  Profile limited = profile();
  limited.gpu->ras.corrected_warn_above = 100;
  EXPECT_EQ(judge_ras(many, limited).front(), warns("0003:00:00.0", Remedy::watch, {101, 100}));
}

TEST(GpuRasTest, IsUnknownForUnknownFacts) {
  Snapshot unreported = ras_node();
  auto& ras = unreported.pci->amd_gpus.at(0).ras;
  ras = unreadable();
  EXPECT_EQ(judge_ras(unreported).front().outcome, Outcome::unknown);
  ras = absent();
  EXPECT_EQ(judge_ras(unreported).front().outcome, Outcome::skip);
  Snapshot unsized = ras_node();
  unsized.pci->amd_gpus.at(0).memory_bytes = unreadable();
  EXPECT_EQ(judge_ras(unsized).front(), unknown("0002:00:00.0"));
}

TEST(GpuRasTest, SkipsWithoutAmdGpus) {
  Snapshot other = ras_node();
  other.pci->amd_gpus.clear();
  EXPECT_EQ(judge_ras(other, Profile{}).front(), skips());
}

}  // namespace
}  // namespace muster::gpu_amd_test
