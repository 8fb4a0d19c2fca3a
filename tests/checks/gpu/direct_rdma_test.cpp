// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checks/catalogue.hpp"
#include "checks/run.hpp"
#include "lib/profile/limits/gpu.hpp"
#include "lib/profile/limits/host.hpp"
#include "lib/profile/limits/ib.hpp"
#include "tests/checks/ask.hpp"
#include "tests/checks/gpu/gpu_node.hpp"
#include "tests/support/printers.hpp"

namespace muster::gpu_direct_rdma_test {
namespace {

using ::testing::ElementsAre;

Profile profile() {
  Profile profile = gpu_node::profile();
  profile.ib->present.count = 2;
  return profile;
}

// Without nvidia_peermem, and with all that dma-buf needs.
Snapshot with_dma_buf() {
  Snapshot node = gpu_node::node();
  node.kernel = observed(Kernel{.release = std::string("5.15.0-1073-azure"),
                                .modules = std::vector<std::string>{"nvidia", "nvidia_uvm"}});
  node.nvml->driver = std::string("535.161.08");
  node.nvml->open_module = true;
  return node;
}

Snapshot with_module(std::string name) {
  Snapshot node = with_dma_buf();
  node.nvml->open_module = false;
  node.kernel->modules->push_back(std::move(name));
  return node;
}

Findings judge(const Snapshot& snapshot, const Profile& expected = profile()) {
  auto findings = ask(checks::gpu_direct_rdma::check, snapshot, expected);
  for (Finding& finding : findings) finding.seen_by.clear();
  return findings;
}

Expected fails() {
  return {.device = "node", .outcome = Outcome::fail, .remedy = Remedy::fix_config};
}

TEST(GpuDirectRdmaTest, EitherModuleIsEnough) {
  EXPECT_THAT(judge(with_module("nvidia_peermem")), ElementsAre(passes()));
  EXPECT_THAT(judge(with_module("nv_peer_mem")), ElementsAre(passes()));
}

TEST(GpuDirectRdmaTest, DmaBufIsEnough) {
  EXPECT_THAT(judge(with_dma_buf()), ElementsAre(passes()));
}

TEST(GpuDirectRdmaTest, TheClosedModuleHasNoDmaBuf) {
  Snapshot node = with_dma_buf();
  node.nvml->open_module = false;
  EXPECT_THAT(judge(node), ElementsAre(fails()));
}

TEST(GpuDirectRdmaTest, AnOlderDriverHasNoDmaBuf) {
  Snapshot node = with_dma_buf();
  node.nvml->driver = std::string("510.47.03");
  EXPECT_THAT(judge(node), ElementsAre(fails()));
  node.nvml->driver = std::string("515.43.04");
  EXPECT_EQ(judge(node).front().outcome, Outcome::pass);
}

TEST(GpuDirectRdmaTest, AnOlderKernelHasNoDmaBuf) {
  Snapshot node = with_dma_buf();
  node.kernel->release = std::string("5.4.0-150-generic");
  EXPECT_THAT(judge(node), ElementsAre(fails()));
  for (const auto* release : {"5.12.0", "6.8.0-1015-azure", "5.14.0-427.el9.x86_64"}) {
    node.kernel->release = std::string(release);
    EXPECT_EQ(judge(node).front().outcome, Outcome::pass) << release;
  }
}

TEST(GpuDirectRdmaTest, AnEnterpriseKernelMayHaveItUnderAnOlderNumber) {
  Snapshot node = with_dma_buf();
  node.kernel->release = std::string("4.18.0-553.el8_10.x86_64");
  EXPECT_THAT(judge(node), ElementsAre(unknown()));
}

TEST(GpuDirectRdmaTest, ASettingMayTurnDmaBufOff) {
  Snapshot node = with_dma_buf();
  node.environment->nccl = std::vector<NcclSetting>{
      {.name = "NCCL_DMABUF_ENABLE", .value = "1", .origin = "/etc/nccl.conf:1"},
      {.name = "NCCL_DMABUF_ENABLE", .value = "0", .origin = "environment"}};
  EXPECT_THAT(judge(node), ElementsAre(fails()));
  node.environment->nccl->pop_back();
  EXPECT_EQ(judge(node).front().outcome, Outcome::pass);
}

TEST(GpuDirectRdmaTest, IsUnknownForUnknownModes) {
  Snapshot node = with_dma_buf();
  node.nvml->open_module = Fact<bool>::absent("no such file");
  EXPECT_THAT(judge(node), ElementsAre(unknown()));
  node = with_dma_buf();
  node.nvml->driver = std::string("?");
  EXPECT_THAT(judge(node), ElementsAre(unknown()));
  node = with_dma_buf();
  node.kernel->release = std::string("custom");
  EXPECT_THAT(judge(node), ElementsAre(unknown()));
  node.kernel->release = Fact<std::string>::unreadable("I/O error");
  EXPECT_THAT(judge(node), ElementsAre(unknown()));
  node.kernel->modules = Fact<std::vector<std::string>>::unreadable("I/O error");
  EXPECT_THAT(judge(node), ElementsAre(unknown()));
}

TEST(GpuDirectRdmaTest, ACertainReasonComesBeforeAnUncertainOne) {
  Snapshot node = with_dma_buf();
  node.nvml->open_module = Fact<bool>::absent("no such file");
  node.kernel->release = std::string("5.4.0");
  EXPECT_THAT(judge(node), ElementsAre(fails()));
}

TEST(GpuDirectRdmaTest, WithoutAnUsableDriverTheModuleAloneIsJudged) {
  Snapshot node = with_dma_buf();
  node.nvml->trouble = "nvmlInit_v2: Driver Not Loaded (9)";
  EXPECT_THAT(judge(node), ElementsAre(skips()));
  node.nvml = {.status = Status::absent, .reason = "foreign root"};
  EXPECT_THAT(judge(node), ElementsAre(skips()));
  node.nvml = {.status = Status::timeout, .reason = "no answer"};
  EXPECT_THAT(judge(node), ElementsAre(unknown()));
  node.kernel->modules->emplace_back("nvidia_peermem");
  EXPECT_THAT(judge(node), ElementsAre(passes()));
}

TEST(GpuDirectRdmaTest, OnlyWhereGpusAndHcasAreExpected) {
  const auto nothing = skips();
  EXPECT_THAT(judge(with_dma_buf(), gpu_node::profile()), ElementsAre(nothing));
  Profile amd = profile();
  amd.gpu->present.vendor = GpuVendor::amd;
  EXPECT_THAT(judge(with_dma_buf(), amd), ElementsAre(nothing));
  Profile without = profile();
  without.gpu->direct_rdma.expected = false;
  EXPECT_THAT(judge(with_dma_buf(), without), ElementsAre(nothing));
}

TEST(GpuDirectRdmaTest, AModuleThatHostModulesMissesIsItsFinding) {
  Snapshot node = with_dma_buf();
  node.nvml->open_module = false;
  Profile expected = profile();
  expected.host->modules.required = {"nvidia_peermem|nv_peer_mem"};
  const auto report = judge(node, expected, {.only = {"gpu.direct_rdma", "host.modules"}});
  EXPECT_THAT(report.checks, ElementsAre(CheckResult{"host.modules", Outcome::fail},
                                         CheckResult{"gpu.direct_rdma", Outcome::skip}));
  EXPECT_EQ(judge(node, expected, {.only = {"gpu.direct_rdma"}}).verdict, Verdict::unhealthy);
}

}  // namespace
}  // namespace muster::gpu_direct_rdma_test
