// SPDX-License-Identifier: Apache-2.0
// Azure's checks on literal nodes: what a line names fails, and nothing is healthy that was not
// looked at. The faults are those that Azure's scripts catch.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "checks/nhc_conf/judge.hpp"
#include "checks/nhc_conf/judging.hpp"
#include "lib/node/xid.hpp"
#include "lib/profile/limits/probes.hpp"
#include "tests/support/printers.hpp"

namespace muster::nhc::azure_test {
namespace {

constexpr double kUptime = 10 * 86400;

Gpu sound_gpu(unsigned index) {
  const GpuEcc none{.dram_corrected = std::uint64_t{0},
                    .dram_uncorrected = std::uint64_t{0},
                    .sram_corrected = std::uint64_t{0},
                    .sram_uncorrected = std::uint64_t{0}};
  Gpu gpu{.index = index,
          .address = fmt::format("000{}:00:00.0", index + 1),
          .uuid = fmt::format("GPU-{}", index),
          .serial = fmt::format("16{}", index),
          .model = std::string("Tesla V100-SXM2-32GB"),
          .ecc_volatile = none,
          .ecc_aggregate = none};
  gpu.firmware.vbios = std::string("88.00.80.00.02");
  gpu.firmware.inforom_valid = true;
  gpu.retired_pages = {
      .single_bit = std::uint64_t{0}, .double_bit = std::uint64_t{0}, .pending = false};
  gpu.recovery_action = 0U;
  return gpu;
}

Snapshot node() {
  Snapshot snapshot{.identity = observed(Identity{.hostname = "n3", .uptime_s = kUptime}),
                    .kernel_log = observed(KernelLog{}),
                    .infiniband = observed(Infiniband{.umad = std::string("5")}),
                    .nvml = observed(Nvml{.driver = std::string("580.82.07"),
                                          .gpus = {sound_gpu(0), sound_gpu(1)}})};
  return snapshot;
}

Gpu& gpu(Snapshot& snapshot, std::size_t index) { return snapshot.nvml.facts.gpus.at(index); }

void log(Snapshot& snapshot, double hours_ago, std::string text) {
  const auto when = static_cast<std::uint64_t>((kUptime - 3600 * hours_ago) * 1e6);
  snapshot.kernel_log.facts.records.push_back(
      {.time_us = when, .level = 4, .text = std::move(text), .last_us = when});
  snapshot.xids = find_xids(*snapshot.kernel_log);
}

Report judged(const Snapshot& snapshot, std::string_view line, bool strict = false) {
  auto config = parse_config("nhc.conf", fmt::format("* || {}\n", line));
  config.strict = strict;
  return judge(snapshot, {}, config, "manual");
}

Verdict verdict(const Snapshot& snapshot, std::string_view line) {
  return judged(snapshot, line).verdict;
}

TEST(NhcAzureTest, OneFaultOfAllGpusIsOneFindingWhateverLineFindsIt) {
  auto snapshot = node();
  for (unsigned i = 0; i < 2; ++i)
    gpu(snapshot, i).ecc_aggregate.dram_corrected = std::uint64_t{100};
  const auto config =
      parse_config("nhc.conf", "* || check_gpu_ecc 20000000 10000\n* || check_gpu_ecc 10 10\n");
  const auto report = judge(snapshot, {}, config, "manual");
  ASSERT_EQ(report.groups.size(), 1U);
  EXPECT_EQ(report.groups.front().subject, "2 of 2 GPUs");
}

TEST(NhcAzureTest, RetiredPagesAreMemoryErrors) {
  auto snapshot = node();
  EXPECT_EQ(verdict(snapshot, "check_gpu_ecc"), Verdict::healthy);
  gpu(snapshot, 1).retired_pages = {
      .single_bit = std::uint64_t{60}, .double_bit = std::uint64_t{10}, .pending = true};
  EXPECT_EQ(verdict(snapshot, "check_gpu_ecc"), Verdict::unhealthy);
  EXPECT_EQ(judged(snapshot, "check_gpu_ecc", true).verdict, Verdict::unhealthy);
}

TEST(NhcAzureTest, AVbiosThatALineNamesMustBeOnEveryGpu) {
  auto snapshot = node();
  EXPECT_EQ(verdict(snapshot, "check_vbios_version 88.00.80.00.02"), Verdict::healthy);
  EXPECT_EQ(verdict(snapshot, "check_vbios_version 88.00"), Verdict::healthy);
  EXPECT_EQ(verdict(snapshot, "check_vbios_version 8.00"), Verdict::unhealthy);
  EXPECT_EQ(verdict(snapshot, "check_vbios_version 88.00.80.00.0"), Verdict::unhealthy);
  gpu(snapshot, 1).firmware.vbios = std::string("88.00.43.00.03");
  EXPECT_EQ(verdict(snapshot, "check_vbios_version 88.00.80.00.02"), Verdict::unhealthy);
  gpu(snapshot, 1).firmware.vbios = Fact<std::string>::unreadable("NVML says no");
  EXPECT_EQ(verdict(snapshot, "check_vbios_version 88.00.80.00.02"), Verdict::unknown);
}

TEST(NhcAzureTest, ACorruptInforomIsWhatNvidiaSmiFailsAt) {
  auto snapshot = node();
  EXPECT_EQ(verdict(snapshot, "check_nvsmi_healthmon"), Verdict::healthy);
  gpu(snapshot, 0).firmware.inforom_valid = false;
  EXPECT_EQ(verdict(snapshot, "check_nvsmi_healthmon"), Verdict::unhealthy);
}

TEST(NhcAzureTest, AnInactiveLinkFailsWhereTheProfileNamesNoNumber) {
  auto snapshot = node();
  for (auto& each : snapshot.nvml->gpus) {
    each.nvlinks = std::vector<NvLink>{{.link = 0, .state = 1U}, {.link = 1, .state = 1U}};
  }
  EXPECT_EQ(verdict(snapshot, "check_nvlink_status"), Verdict::healthy);
  for (auto& link : *gpu(snapshot, 1).nvlinks) link.state = 0U;
  EXPECT_EQ(verdict(snapshot, "check_nvlink_status"), Verdict::unhealthy);
}

TEST(NhcAzureTest, GpusOfAmdAreCountedByTheirDriver) {
  auto snapshot = node();
  snapshot.nvml = {.status = Status::absent, .reason = "no NVML", .facts = {}};
  AmdGpu amd{.address = "0002:00:00.0"};
  amd.ras = std::map<std::string, RasCounts>{{"umc", {}}};
  snapshot.pci = observed(Pci{.amd_gpus = {amd, amd}});
  EXPECT_EQ(verdict(snapshot, "check_gpu_count 2 rocm"), Verdict::healthy);
  EXPECT_EQ(verdict(snapshot, "check_gpu_count 8 rocm"), Verdict::unhealthy);
  EXPECT_EQ(verdict(snapshot, "check_gpu_count many rocm"), Verdict::unknown);
  EXPECT_EQ(verdict(snapshot, "check_gpu_xgmi"), Verdict::healthy);
  (*snapshot.pci->amd_gpus.back().ras)["gfx"].uncorrected = 1;
  EXPECT_EQ(verdict(snapshot, "check_gpu_count 2 rocm"), Verdict::unhealthy);
  snapshot.pci->amd_gpus.clear();
  EXPECT_EQ(verdict(snapshot, "check_gpu_count 2 rocm"), Verdict::unhealthy);
  EXPECT_EQ(verdict(snapshot, "check_gpu_xgmi"), Verdict::unknown);
}

constexpr std::array kGpuLines{
    "check_gpu_count 2",          "check_nvsmi_healthmon", "check_gpu_ecc 20000000 10000",
    "check_gpu_clock_throttling", "check_app_gpu_clocks",  "check_gpu_persistence",
    "check_vbios_version 88",     "check_nvlink_status",   "check_nv_healthmon"};

TEST(NhcAzureTest, AHangingDriverIsAFault) {
  auto snapshot = node();
  snapshot.nvml = {.status = Status::timeout, .reason = "no answer in 5 s", .facts = {}};
  Profile profile;
  profile.muster->probes.fatal = {"nvml"};
  for (const bool strict : {false, true}) {
    for (const auto* line : kGpuLines) {
      auto config = parse_config("nhc.conf", fmt::format("* || {}\n", line));
      config.strict = strict;
      const auto report = judge(snapshot, profile, config, "manual");
      EXPECT_EQ(report.verdict, Verdict::unhealthy) << line;
      EXPECT_EQ(report.findings.front().check, "muster.probes") << line;
    }
  }
  // A line that needs no GPU is no worse for it.
  snapshot.network = observed(Network{.interfaces = {{.name = "eth0"}}});
  const auto other = parse_config("nhc.conf", "* || check_hw_eth eth0\n");
  EXPECT_EQ(judge(snapshot, profile, other, "manual").verdict, Verdict::healthy);
}

TEST(NhcAzureTest, ACrashOfNvmlIsAFaultAndTheEndOfMusterIsNone) {
  auto snapshot = node();
  snapshot.nvml = {.status = Status::error, .reason = "killed by signal 11", .facts = {}};
  for (const auto* line : kGpuLines) {
    EXPECT_EQ(verdict(snapshot, line), Verdict::unhealthy) << line;
  }
  snapshot.nvml.reason = "killed by signal 9";
  for (const auto* line : kGpuLines) EXPECT_EQ(verdict(snapshot, line), Verdict::unknown) << line;
}

TEST(NhcAzureTest, GpusThatNobodyAskedForAreUnknownAndThoseThatAreGoneFail) {
  auto snapshot = node();
  for (const auto* line : kGpuLines) {
    snapshot.nvml = {};
    EXPECT_EQ(verdict(snapshot, line), Verdict::unknown) << line;
    snapshot.nvml = {.status = Status::absent, .reason = "no library", .facts = {}};
    EXPECT_EQ(verdict(snapshot, line), Verdict::unhealthy) << line;
    snapshot.identity.facts.foreign_root = true;
    EXPECT_EQ(verdict(snapshot, line), Verdict::unknown) << line;
    snapshot.identity.facts.foreign_root = false;
    snapshot.nvml = observed(Nvml{});
    EXPECT_EQ(verdict(snapshot, line), Verdict::unhealthy) << line;
    snapshot.nvml = observed(Nvml{.trouble = "driver not loaded", .trouble_code = 9});
    EXPECT_EQ(verdict(snapshot, line), Verdict::unhealthy) << line;
  }
}

TEST(NhcAzureTest, ALineWhoseChecksHaveNothingToJudgeIsUnknown) {
  EXPECT_EQ(verdict(node(), "check_hw_topology"), Verdict::unknown);
}

struct Flap {
  const char* line;
  const char* adapter;
};

TEST(NhcAzureTest, LinksThatWentDownAreCountedOnTheFirstRun) {
  constexpr std::array kLines{
      Flap{"mlx5_core 0101:00:00.0 mlx5_ib0: Port: 1 Link DOWN", "mlx5_ib0"},
      Flap{"mlx5_core 0101:00:00.0 ib0: Link down", "ib0"}, Flap{"ib6: Lost carrier", "ib6"},
      Flap{"systemd-networkd[712]: ibP264s182277: Lost carrier", "ibP264s182277"},
      Flap{"ib0: lost carrier", "ib0"}};
  for (const auto& [text, adapter] : kLines) {
    for (const bool strict : {false, true}) {
      auto snapshot = node();
      for (int i = 0; i < 4; ++i) log(snapshot, 1 + i, text);
      EXPECT_NE(judged(snapshot, "check_ib_link_flapping", strict).verdict, Verdict::unhealthy)
          << text;
      log(snapshot, 20, text);
      const auto report = judged(snapshot, "check_ib_link_flapping", strict);
      EXPECT_EQ(report.verdict, Verdict::unhealthy) << text;
      EXPECT_EQ(report.findings.front().device, adapter);
      EXPECT_NE(judged(snapshot, "check_ib_link_flapping 12 5", strict).verdict,
                Verdict::unhealthy);
      EXPECT_EQ(judged(snapshot, "check_ib_link_flapping 2 2", strict).verdict, Verdict::unhealthy);
    }
  }
}

TEST(NhcAzureTest, OneEventThatThreeProgramsWriteIsOneAndEthernetIsNone) {
  auto snapshot = node();
  for (int i = 0; i < 3; ++i) {
    log(snapshot, 1 + i, "mlx5_core 0101:00:00.0 ib0: Port: 1 Link DOWN");
    log(snapshot, 1 + i, "mlx5_core 0101:00:00.0 ib0: Link down");
    log(snapshot, 1 + i, "ib0: Lost carrier");
    for (int j = 0; j < 3; ++j) log(snapshot, 1 + i, "mlx5_core 0105:00:00.0 eth1: Link down");
  }
  EXPECT_EQ(verdict(snapshot, "check_ib_link_flapping 24 4"), Verdict::healthy);
  EXPECT_EQ(verdict(snapshot, "check_ib_link_flapping 24 3"), Verdict::unhealthy);
}

TEST(NhcAzureTest, InfinibandWithoutItsManagementInterfaceFails) {
  auto snapshot = node();
  snapshot.infiniband.facts.hcas.push_back(
      {.name = "mlx5_ib0",
       .ports = std::vector<IbPort>{
           {.link_layer = "InfiniBand", .state = 4U, .physical_state = 5U, .rate_gbps = 400.0}}});
  EXPECT_EQ(verdict(snapshot, "check_hw_ib 400 mlx5_ib0:1"), Verdict::healthy);
  snapshot.infiniband.facts.umad = {};  // as in a snapshot of an older muster
  EXPECT_EQ(verdict(snapshot, "check_hw_ib 400 mlx5_ib0:1"), Verdict::healthy);
  snapshot.infiniband.facts.umad = Fact<std::string>::absent("it is not there");
  EXPECT_EQ(verdict(snapshot, "check_hw_ib 400 mlx5_ib0:1"), Verdict::unhealthy);
}

TEST(NhcAzureTest, TwoLimitsOfMemoryErrorsAreBothJudged) {
  auto snapshot = node();
  gpu(snapshot, 0).ecc_aggregate.dram_corrected = std::uint64_t{500};
  const auto config =
      parse_config("nhc.conf", "* || check_gpu_ecc 1000 1000\n* || check_gpu_ecc 100 1000\n");
  const auto report = judge(snapshot, {}, config, "manual");
  EXPECT_EQ(report.verdict, Verdict::unhealthy);
  EXPECT_EQ(report.findings.front().check, "gpu.ecc_corrected");
}

}  // namespace
}  // namespace muster::nhc::azure_test
