// SPDX-License-Identifier: Apache-2.0

#include "tests/checks/ask.hpp"
#include "tests/checks/gpu/gpu_node.hpp"

namespace muster::gpu_present_test {
namespace {

constexpr AskedCheck judge{checks::gpu_present::check, gpu_node::profile};

TEST(GpuPresentTest, JudgesEachChange) {
  const std::vector<NodeChange> changes{
      {"a GPU without address is unknown",
       [](Snapshot& node) {
         gpu_of(node, 1).address = "";
         gpu_of(node, 1).no_address = "nvmlDeviceGetPciInfo_v3: Unknown Error (999)";
       },
       {unknown("gpu1")}},
      {"fails missing GPUs unless PCI devices names them",
       [](Snapshot& node) { node.nvml->gpus.pop_back(); },
       {Expected{.device = "node",
                 .outcome = Outcome::fail,
                 .observed = std::int64_t{1},
                 .limit = std::int64_t{2},
                 .remedy = Remedy::report_to_provider,
                 .seen_by = {{.check = "pci.devices", .device = "*"}}}}},
  };
  expect_findings(judge, gpu_node::node(), changes);
}

TEST(GpuPresentTest, NamesTheCallThatDidNotReturn) {
  Snapshot node = gpu_node::node();
  gpu_of(node, 0).stuck = "nvmlDeviceGetTemperature";
  EXPECT_EQ(judge(node).front(), (Expected{.device = "gpu0",
                                           .outcome = Outcome::fail,
                                           .remedy = Remedy::report_to_provider,
                                           .code = "NHC2015",
                                           .seen_by = {{"gpu.xid", "node"}}}));
  EXPECT_EQ(judge(node).front().remedy, Remedy::report_to_provider);
}

TEST(GpuPresentTest, AGpuThatTheBusLostTooFellOff) {
  Snapshot silent = gpu_node::node();
  gpu_of(silent, 0).lost = "nvmlDeviceGetName: GPU is lost (15)";
  EXPECT_EQ(judge(silent).front().code, "");
  silent.pci->devices[0].responding = false;
  EXPECT_EQ(judge(silent).front().code, "NHC2013");
  Snapshot gone = gpu_node::node();
  gpu_of(gone, 1).stuck = "nvmlDeviceGetName";
  gone.pci->devices.pop_back();
  EXPECT_EQ(judge(gone).front().code, "NHC2013");
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

TEST(GpuPresentTest, AModelThatDiffersFromMostFailsIfNoneIsNamed) {
  Snapshot node = three_gpus();
  EXPECT_EQ(judge(node, three_of_any_model()).front(), passes());
  gpu_of(node, 1).model = std::string("NVIDIA H100 PCIe");
  EXPECT_THAT(judge(node, three_of_any_model()),
              ElementsAre(fails("gpu1", Remedy::fix_config,
                                {"NVIDIA H100 PCIe", "NVIDIA H100 80GB HBM3"})));
}

TEST(GpuPresentTest, ALostGpuAndAMachineThatNoProfileKnowsAreNotCompared) {
  Snapshot node = three_gpus();
  gpu_of(node, 1).model = std::string("NVIDIA H100 PCIe");
  Profile any = three_of_any_model();
  any.gpu->present.count.reset();
  EXPECT_EQ(judge(node, any).front().outcome, Outcome::pass);
  gpu_of(node, 1).lost = "nvmlDeviceGetSerial: GPU is lost (15)";
  const Findings findings = judge(node, three_of_any_model());
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings.front(), (Expected{.device = "gpu1",
                                        .outcome = Outcome::fail,
                                        .remedy = Remedy::report_to_provider,
                                        .seen_by = {{"gpu.xid", "node"}}}));
}

TEST(GpuPresentTest, MoreGpusThanExpectedFail) {
  EXPECT_THAT(judge(three_gpus()), ElementsAre(fails("node", Remedy::fix_config, {3, 2})));
}

TEST(GpuPresentTest, IfNvmlIsMissingNoGpuIsJudged) {
  Snapshot node = gpu_node::node();
  node.nvml = {.status = Status::absent, .reason = "libnvidia-ml.so.1: cannot open"};
  EXPECT_EQ(checks::gpu_present::check.not_applicable(node, Profile{}), (skips()));
  EXPECT_EQ(checks::gpu_present::check.not_applicable(node, gpu_node::profile()), (skips()));
}

TEST(GpuPresentTest, OneCallThatReturnsForNoGpuIsTheDriversFault) {
  Snapshot node = gpu_node::node();
  for (auto& gpu : node.nvml->gpus) gpu.stuck = "nvmlDeviceGetTemperature";
  const auto findings = judge(node);
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings.front(), (Expected{.device = "node",
                                        .outcome = Outcome::fail,
                                        .observed = "nvmlDeviceGetTemperature",
                                        .remedy = Remedy::reboot,
                                        .code = "NHC2015",
                                        .seen_by = {{"gpu.xid", "node"}}}));
  gpu_of(node, 1).stuck = "nvmlDeviceGetName";
  EXPECT_EQ(judge(node).size(), 2U) << "each in a call of its own";
}

}  // namespace
}  // namespace muster::gpu_present_test
