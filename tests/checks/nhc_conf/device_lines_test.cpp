// SPDX-License-Identifier: Apache-2.0
// Lines about InfiniBand ports and Azure's lines about GPUs and links, on literal nodes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "checks/nhc_conf/judge.hpp"
#include "lib/node/xid.hpp"
#include "lib/profile/limits/gpu.hpp"
#include "lib/profile/limits/host.hpp"
#include "tests/checks/nhc_conf/judge_line.hpp"

namespace muster::nhc::device_lines_test {
namespace {

constexpr double kUptime = 10 * 86400;

IbPort port(unsigned number, unsigned state, unsigned physical, Fact<double> rate) {
  return {.number = number,
          .link_layer = "InfiniBand",
          .state = state,
          .physical_state = physical,
          .rate_gbps = std::move(rate)};
}

TEST(NhcIb, APortIsActiveAtTheRate) {
  const Snapshot node{
      .infiniband = observed(Infiniband{
          .hcas = {
              {.name = "mlx5_0", .ports = std::vector{port(1, 4, 5, 400.0), port(2, 1, 2, 10.0)}},
              {.name = "mlx5_1", .ports = std::vector{port(1, 4, 5, 200.0)}},
              {.name = "mlx5_2",
               .ports = std::vector{port(1, 4, 5, Fact<double>::unreadable("garbled"))}},
              {.name = "mlx5_3", .ports = Fact<std::vector<IbPort>>::unreadable("garbled")}}})};
  for (const auto& [line, expected] : {std::pair{"400 mlx5_0:1", "pass mlx5_0:1"},
                                       {"400 mlx5_0", "pass mlx5_0"},
                                       {"400", "pass node"},
                                       {"'' mlx5_?:1", "pass mlx5_?:1"},
                                       {"400 mlx5_0:2", "fail mlx5_0:2"},
                                       {"400 mlx5_1:1", "fail mlx5_1:1"},
                                       {"400 mlx5_9:1", "fail mlx5_9:1"},
                                       {"800 mlx5_0:*", "fail mlx5_0:*"},
                                       {"400 mlx5_2:1", "unknown mlx5_2:1"},
                                       {"400 mlx5_3:1", "unknown mlx5_3"},
                                       {"fast", "unknown node"}}) {
    EXPECT_EQ(outcome_of(node, fmt::format("check_hw_ib {}", line)), expected) << line;
  }
  EXPECT_EQ(outcome_of({}, "check_hw_ib 400"), "fail node");
}

TEST(NhcIb, FailsWithoutTheManagementInterface) {
  Snapshot node{.infiniband = observed(Infiniband{
                    .hcas = {{.name = "mlx5_0", .ports = std::vector{port(1, 4, 5, 400.0)}}}})};
  EXPECT_EQ(outcome_of(node, "check_hw_ib 400"), "pass node");  // an older snapshot
  node.infiniband->umad = std::string("5");
  EXPECT_EQ(outcome_of(node, "check_hw_ib 400"), "pass node");
  node.infiniband->umad = Fact<std::string>::absent("no such file");
  EXPECT_EQ(outcome_of(node, "check_hw_ib 400"), "fail node");
}

Gpu healthy_gpu(unsigned index) {
  const GpuEcc none{.dram_corrected = std::uint64_t{0},
                    .dram_uncorrected = std::uint64_t{0},
                    .sram_corrected = std::uint64_t{0},
                    .sram_uncorrected = std::uint64_t{0}};
  Gpu gpu{.index = index,
          .address = fmt::format("000{}:00:00.0", index + 1),
          .uuid = fmt::format("GPU-{}", index),
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

Snapshot gpu_node() {
  return {.identity = observed(Identity{.hostname = "n3", .uptime_s = kUptime}),
          .kernel_log = observed(KernelLog{}),
          .infiniband = observed(Infiniband{.umad = std::string("5")}),
          .nvml = observed(
              Nvml{.driver = std::string("580.82.07"), .gpus = {healthy_gpu(0), healthy_gpu(1)}})};
}

Gpu& second_gpu(Snapshot& snapshot) { return snapshot.nvml.facts.gpus.at(1); }

void log(Snapshot& snapshot, double hours_ago, std::string text) {
  const auto when = static_cast<std::uint64_t>((kUptime - 3600 * hours_ago) * 1e6);
  snapshot.kernel_log.facts.records.push_back(
      {.time_us = when, .level = 4, .text = std::move(text), .last_us = when});
  snapshot.xids = find_xids(*snapshot.kernel_log);
}

Report report_of(const Snapshot& snapshot, std::string_view lines, const Profile& profile = {}) {
  return judge(snapshot, profile, parse_config("nhc.conf", lines), "manual");
}

Verdict verdict(const Snapshot& snapshot, std::string_view line) {
  return report_of(snapshot, fmt::format("* || {}\n", line)).verdict;
}

TEST(NhcGpuLines, RetiredPagesAreMemoryErrors) {
  auto node = gpu_node();
  EXPECT_EQ(verdict(node, "check_gpu_ecc"), Verdict::healthy);
  second_gpu(node).retired_pages = {
      .single_bit = std::uint64_t{60}, .double_bit = std::uint64_t{10}, .pending = true};
  EXPECT_EQ(verdict(node, "check_gpu_ecc"), Verdict::unhealthy);
}

TEST(NhcGpuLines, EveryGpuHasTheVbiosOfTheLine) {
  auto node = gpu_node();
  EXPECT_EQ(verdict(node, "check_vbios_version 88.00.80.00.02"), Verdict::healthy);
  EXPECT_EQ(verdict(node, "check_vbios_version 88.00"), Verdict::healthy);
  EXPECT_EQ(verdict(node, "check_vbios_version 8.00"), Verdict::unhealthy);
  second_gpu(node).firmware.vbios = std::string("88.00.43.00.03");
  EXPECT_EQ(verdict(node, "check_vbios_version 88.00.80.00.02"), Verdict::unhealthy);
  second_gpu(node).firmware.vbios = Fact<std::string>::unreadable("garbled");
  EXPECT_EQ(verdict(node, "check_vbios_version 88.00.80.00.02"), Verdict::unknown);
}

TEST(NhcGpuLines, AnInactiveLinkFailsUnlessTheProfileGivesTheNumber) {
  auto node = gpu_node();
  for (auto& each : node.nvml->gpus) {
    each.nvlinks = std::vector<NvLink>{{.link = 0, .state = 1U}, {.link = 1, .state = 1U}};
  }
  EXPECT_EQ(verdict(node, "check_nvlink_status"), Verdict::healthy);
  second_gpu(node).nvlinks->back().state = 0U;
  EXPECT_EQ(verdict(node, "check_nvlink_status"), Verdict::unhealthy);
  Profile profile;
  profile.gpu->nvlink_state.links = 1;
  for (const auto& finding : report_of(node, "* || check_nvlink_status\n", profile).findings) {
    EXPECT_EQ(finding.check.find("nhc."), std::string::npos);
  }
}

TEST(NhcGpuLines, GpusOfAmdAreCountedByTheirDriver) {
  auto node = gpu_node();
  node.nvml = {.status = Status::absent, .reason = "no NVML", .facts = {}};
  AmdGpu amd{.address = "0002:00:00.0"};
  amd.ras = std::map<std::string, RasCounts>{{"umc", {}}};
  node.pci = observed(Pci{.amd_gpus = {amd, amd}});
  EXPECT_EQ(verdict(node, "check_gpu_count 2 rocm"), Verdict::healthy);
  EXPECT_EQ(verdict(node, "check_gpu_count 8 rocm"), Verdict::unhealthy);
  EXPECT_EQ(verdict(node, "check_gpu_count many rocm"), Verdict::unknown);
  EXPECT_EQ(verdict(node, "check_gpu_xgmi"), Verdict::healthy);
  (*node.pci->amd_gpus.back().ras)["gfx"].uncorrected = 1;
  EXPECT_EQ(verdict(node, "check_gpu_count 2 rocm"), Verdict::unhealthy);
  node.pci->amd_gpus.clear();
  EXPECT_EQ(verdict(node, "check_gpu_count 2 rocm"), Verdict::unhealthy);
  EXPECT_EQ(verdict(node, "check_gpu_xgmi"), Verdict::unknown);
}

constexpr std::array kGpuLines{
    "check_gpu_count 2",          "check_nvsmi_healthmon", "check_gpu_ecc 20000000 10000",
    "check_gpu_clock_throttling", "check_app_gpu_clocks",  "check_gpu_persistence",
    "check_vbios_version 88",     "check_nvlink_status",   "check_nv_healthmon"};

TEST(NhcGpuLines, AHangingDriverFailsTheLinesAboutGpusOnly) {
  auto node = gpu_node();
  node.nvml = {.status = Status::timeout, .reason = "no answer in 5 s", .facts = {}};
  node.network = observed(Network{.interfaces = {{.name = "eth0"}}});
  Profile profile;
  profile.muster->probes.fatal = {"nvml"};
  for (const auto* line : kGpuLines) {
    const auto report = report_of(node, fmt::format("* || {}\n", line), profile);
    EXPECT_EQ(report.verdict, Verdict::unhealthy) << line;
    EXPECT_EQ(report.findings.front().check, "muster.probes") << line;
  }
  EXPECT_EQ(report_of(node, "* || check_hw_eth eth0\n", profile).verdict, Verdict::healthy);
}

TEST(NhcGpuLines, FailWithoutGpusAndAreUnknownIfNothingWasObserved) {
  const auto expect = [](const Snapshot& node, Verdict expected) {
    for (const auto* line : kGpuLines) EXPECT_EQ(verdict(node, line), expected) << line;
  };
  auto node = gpu_node();
  node.nvml = {};
  expect(node, Verdict::unknown);
  node.nvml = {.status = Status::absent, .reason = "no library", .facts = {}};
  expect(node, Verdict::unhealthy);
  node.identity->foreign_root = true;
  expect(node, Verdict::unknown);
  node.identity->foreign_root = false;
  node.nvml = observed(Nvml{});
  expect(node, Verdict::unhealthy);
  node.nvml = observed(Nvml{.trouble = "driver not loaded", .trouble_code = 9});
  expect(node, Verdict::unhealthy);
  node.nvml = {.status = Status::error, .reason = "killed by signal 11", .facts = {}};
  expect(node, Verdict::unhealthy);
  node.nvml.reason = "killed by signal 9";
  expect(node, Verdict::unknown);
}

TEST(NhcLinkFlaps, CountsTheLinksThatWentDownOnTheFirstRun) {
  constexpr std::array kMessages{
      std::pair{"mlx5_core 0101:00:00.0 mlx5_ib0: Port: 1 Link DOWN", "mlx5_ib0"},
      std::pair{"mlx5_core 0101:00:00.0 ib0: Link down", "ib0"},
      std::pair{"ib6: Lost carrier", "ib6"}};
  for (const auto& [text, adapter] : kMessages) {
    auto node = gpu_node();
    for (int i = 0; i < 4; ++i) log(node, 1 + i, text);
    EXPECT_NE(verdict(node, "check_ib_link_flapping"), Verdict::unhealthy) << text;
    log(node, 20, text);
    const auto report = report_of(node, "* || check_ib_link_flapping\n");
    EXPECT_EQ(report.verdict, Verdict::unhealthy) << text;
    EXPECT_EQ(report.findings.front().device, adapter);
    EXPECT_NE(verdict(node, "check_ib_link_flapping 12 5"), Verdict::unhealthy);
    EXPECT_EQ(verdict(node, "check_ib_link_flapping 2 2"), Verdict::unhealthy);
  }
}

}  // namespace
}  // namespace muster::nhc::device_lines_test
