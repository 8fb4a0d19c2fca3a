// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checks/catalogue.hpp"
#include "lib/profile/limits/gpu.hpp"
#include "tests/checks/ask.hpp"
#include "tests/checks/gpu/gpu_node.hpp"
#include "tests/support/printers.hpp"

namespace muster::gpu_present_test {
namespace {

using ::testing::ElementsAre;

Findings judge(const Snapshot& snapshot, const Profile& profile = gpu_node::profile()) {
  return ask(checks::gpu_present::check, snapshot, profile);
}

TEST(GpuPresentTest, PassesWhenAllAnswer) {
  EXPECT_THAT(
      judge(gpu_node::node()),
      ElementsAre(Finding{.device = "node", .outcome = Outcome::pass, .message = "2 GPUs answer"}));
}

TEST(GpuPresentTest, NamesALostGpu) {
  Snapshot node = gpu_node::bare_metal();
  gpu_node::gpu(node, 1).lost = "nvmlDeviceGetMemoryInfo: GPU is lost (15)";
  EXPECT_THAT(judge(node),
              ElementsAre(Finding{
                  .device = "gpu1",
                  .outcome = Outcome::fail,
                  .message = "the GPU at 0002:00:00.0 does not answer: nvmlDeviceGetMemoryInfo: "
                             "GPU is lost (15) (serial 165092301)",
                  .remedy = Remedy::reboot,
                  .seen_by = {{.check = "gpu.xid", .device = "node"}}}));
}

TEST(GpuPresentTest, NamesTheCallThatDidNotReturn) {
  Snapshot node = gpu_node::node();
  gpu_node::gpu(node, 0).stuck = "nvmlDeviceGetTemperature";
  EXPECT_EQ(judge(node).front().message,
            "the GPU at 0001:00:00.0 does not answer: nvmlDeviceGetTemperature did not return "
            "(serial 165092300)");
  EXPECT_EQ(judge(node).front().remedy, Remedy::report_to_provider);
}

TEST(GpuPresentTest, ACallThatDidNotReturnHasTheCodeOfADriverThatDoesNotAnswer) {
  Snapshot node = gpu_node::node();
  gpu_node::gpu(node, 0).stuck = "nvmlDeviceGetTemperature";
  EXPECT_EQ(judge(node).front().code, "NHC2015");
}

TEST(GpuPresentTest, AGpuThatTheBusLostTooFellOff) {
  Snapshot silent = gpu_node::node();
  gpu_node::gpu(silent, 0).lost = "nvmlDeviceGetName: GPU is lost (15)";
  EXPECT_EQ(judge(silent).front().code, "");
  silent.pci->devices[0].responding = false;
  EXPECT_EQ(judge(silent).front().code, "NHC2013");
  Snapshot gone = gpu_node::node();
  gpu_node::gpu(gone, 1).stuck = "nvmlDeviceGetName";
  gone.pci->devices.pop_back();
  EXPECT_EQ(judge(gone).front().code, "NHC2013");
}

TEST(GpuPresentTest, AnotherModelOrSizeFails) {
  Snapshot node = gpu_node::node();
  gpu_node::gpu(node, 0).model = std::string("NVIDIA A100-SXM4-40GB");
  gpu_node::gpu(node, 1).memory->total = 80000000000;
  EXPECT_THAT(
      judge(node),
      ElementsAre(Finding{.device = "gpu0",
                          .outcome = Outcome::fail,
                          .message = "is a NVIDIA A100-SXM4-40GB, expected NVIDIA H100 80GB HBM3 "
                                     "(serial 165092300)",
                          .observed = std::string("NVIDIA A100-SXM4-40GB"),
                          .limit = std::string("NVIDIA H100 80GB HBM3"),
                          .remedy = Remedy::fix_config},
                  Finding{.device = "gpu1",
                          .outcome = Outcome::fail,
                          .message = "74.5 GiB of memory, expected 79.6 GiB (serial 165092301)",
                          .observed = 80000000000.0,
                          .limit = 85520809984.0,
                          .unit = "B",
                          .remedy = Remedy::report_to_provider}));
}

// Three GPUs, and a profile that expects as many and names no model.
Snapshot three_gpus() {
  Snapshot node = gpu_node::node();
  node.nvml->gpus.push_back(gpu_node::h100(2));
  node.pci->devices.push_back(gpu_node::on_bus(gpu_node::h100(2)));
  return node;
}

Profile three_of_any_model() {
  Profile profile = gpu_node::profile();
  profile.gpu->present.count = 3;
  profile.gpu->present.model.reset();
  return profile;
}

TEST(GpuPresentTest, AModelThatDiffersFromMostFailsWhereNoneIsNamed) {
  Snapshot node = three_gpus();
  EXPECT_EQ(judge(node, three_of_any_model()).front().message, "3 GPUs answer");
  gpu_node::gpu(node, 1).model = std::string("NVIDIA H100 PCIe");
  EXPECT_THAT(judge(node, three_of_any_model()),
              ElementsAre(Finding{.device = "gpu1",
                                  .outcome = Outcome::fail,
                                  .message = "model NVIDIA H100 PCIe, but NVIDIA H100 80GB HBM3 on "
                                             "2 of 3 GPUs",
                                  .observed = std::string("NVIDIA H100 PCIe"),
                                  .limit = std::string("NVIDIA H100 80GB HBM3"),
                                  .remedy = Remedy::fix_config}));
}

TEST(GpuPresentTest, ALostGpuAndAMachineThatNoProfileKnowsAreNotCompared) {
  Snapshot node = three_gpus();
  gpu_node::gpu(node, 1).model = std::string("NVIDIA H100 PCIe");
  Profile any = three_of_any_model();
  any.gpu->present.count.reset();
  EXPECT_EQ(judge(node, any).front().outcome, Outcome::pass);
  gpu_node::gpu(node, 1).lost = "nvmlDeviceGetSerial: GPU is lost (15)";
  const Findings findings = judge(node, three_of_any_model());
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_THAT(findings.front().message, testing::HasSubstr("does not answer"));
}

TEST(GpuPresentTest, MoreGpusThanExpectedFail) {
  EXPECT_THAT(judge(three_gpus()), ElementsAre(Finding{.device = "node",
                                                       .outcome = Outcome::fail,
                                                       .message = "NVML lists 3 GPUs, expected 2",
                                                       .observed = std::int64_t{3},
                                                       .limit = std::int64_t{2},
                                                       .remedy = Remedy::fix_config}));
}

TEST(GpuPresentTest, AGpuWithoutAddressIsUnknown) {
  Snapshot node = gpu_node::node();
  gpu_node::gpu(node, 1).address = "";
  gpu_node::gpu(node, 1).no_address = "nvmlDeviceGetPciInfo_v3: Unknown Error (999)";
  EXPECT_THAT(judge(node),
              ElementsAre(Finding{.device = "gpu1",
                                  .outcome = Outcome::unknown,
                                  .message = "its PCI address is not known: "
                                             "nvmlDeviceGetPciInfo_v3: Unknown Error (999)"}));
}

TEST(GpuPresentTest, FewerThanExpectedFailUnlessTheBusChecksTellWhich) {
  Snapshot node = gpu_node::node();
  node.nvml->gpus.pop_back();
  EXPECT_THAT(judge(node),
              ElementsAre(Finding{.device = "node",
                                  .outcome = Outcome::fail,
                                  .message = "NVML lists 1 GPU, expected 2",
                                  .observed = std::int64_t{1},
                                  .limit = std::int64_t{2},
                                  .remedy = Remedy::report_to_provider,
                                  .seen_by = {{.check = "pci.devices", .device = "*"}}}));
}

TEST(GpuPresentTest, WhereNvmlIsMissingNoGpuIsJudged) {
  Snapshot node = gpu_node::node();
  node.nvml = {.status = Status::absent, .reason = "libnvidia-ml.so.1: cannot open"};
  EXPECT_EQ(checks::gpu_present::check.not_here(node, Profile{}),
            (Finding{.device = "node",
                     .outcome = Outcome::skip,
                     .message = "no GPU expected by this profile"}));
  EXPECT_EQ(checks::gpu_present::check.not_here(node, gpu_node::profile()),
            (Finding{.device = "node",
                     .outcome = Outcome::skip,
                     .message = "no NVML to ask: libnvidia-ml.so.1: cannot open"}));
}

TEST(GpuPresentTest, OneCallThatReturnsForNoGpuIsTheDriversFault) {
  Snapshot node = gpu_node::node();
  for (auto& gpu : node.nvml->gpus) gpu.stuck = "nvmlDeviceGetTemperature";
  const auto findings = judge(node);
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings.front().device, "node");
  EXPECT_EQ(findings.front().remedy, Remedy::reboot);
  EXPECT_EQ(findings.front().code, "NHC2015");
  EXPECT_EQ(findings.front().message,
            "none of the 2 GPUs answers: nvmlDeviceGetTemperature did not return for any, so that "
            "the driver hangs");
  gpu_node::gpu(node, 1).stuck = "nvmlDeviceGetName";
  EXPECT_EQ(judge(node).size(), 2U) << "each in a call of its own";
}

}  // namespace
}  // namespace muster::gpu_present_test
