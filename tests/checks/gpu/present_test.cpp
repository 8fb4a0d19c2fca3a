// SPDX-License-Identifier: Apache-2.0

#include "tests/checks/ask.hpp"
#include "tests/checks/gpu/gpu_node.hpp"

namespace muster::gpu_present_test {
namespace {

constexpr AskedCheck judge{checks::gpu_present::check, gpu_node::profile};

// Refers to the one incident of all GPUs in the log.
Expected lost(std::string_view device, Remedy remedy, std::string code = {}, Value observed = {}) {
  return fails(device, remedy, {std::move(observed)}, std::move(code), {{"gpu.xid", "node"}});
}

TEST(GpuPresentTest, AGpuWithoutAddressIsUnknown) {
  Snapshot node = gpu_node::node();
  gpu_of(node, 1).address = "";
  gpu_of(node, 1).no_address = "nvmlDeviceGetPciInfo_v3: Unknown Error (999)";
  EXPECT_THAT(judge(node), ElementsAre(unknown("gpu1")));
}

TEST(GpuPresentTest, FailsMissingGpusUnlessPciDevicesNamesThem) {
  Snapshot node = gpu_node::node();
  node.nvml->gpus.pop_back();
  EXPECT_THAT(judge(node), ElementsAre(fails("node", Remedy::report_to_provider, {1, 2}, "",
                                             {{"pci.devices", "*"}})));
}

TEST(GpuPresentTest, NamesTheCallThatDidNotReturn) {
  Snapshot node = gpu_node::node();
  gpu_of(node, 0).stuck = "nvmlDeviceGetTemperature";
  EXPECT_EQ(judge(node).front(), lost("gpu0", Remedy::report_to_provider, "NHC2015"));
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
  gpu_of(node, 1).model = "NVIDIA H100 PCIe"s;
  EXPECT_THAT(judge(node, three_of_any_model()),
              ElementsAre(fails("gpu1", Remedy::fix_config,
                                {"NVIDIA H100 PCIe", "NVIDIA H100 80GB HBM3"})));
}

TEST(GpuPresentTest, ALostGpuAndAMachineThatNoProfileKnowsAreNotCompared) {
  Snapshot node = three_gpus();
  gpu_of(node, 1).model = "NVIDIA H100 PCIe"s;
  Profile any = three_of_any_model();
  any.gpu->present.count.reset();
  EXPECT_EQ(judge(node, any).front().outcome, Outcome::pass);
  gpu_of(node, 1).lost = "nvmlDeviceGetSerial: GPU is lost (15)";
  EXPECT_THAT(judge(node, three_of_any_model()),
              ElementsAre(lost("gpu1", Remedy::report_to_provider)));
}

TEST(GpuPresentTest, AGpuWithoutUuidFailsWhereGpusAreExpected) {
  for (const Fact<std::string>& uuid : {Fact<std::string>(""s), Fact<std::string>(absent())}) {
    Snapshot node = gpu_node::node();
    gpu_of(node, 1).uuid = uuid;
    EXPECT_THAT(judge(node), ElementsAre(fails("gpu1", Remedy::report_to_provider)));
    EXPECT_THAT(judge(node, Profile{}), ElementsAre(skips("gpu1")));
  }
  Snapshot node = gpu_node::node();
  gpu_of(node, 1).uuid = unreadable();
  EXPECT_THAT(judge(node), ElementsAre(unknown("gpu1")));
}

TEST(GpuPresentTest, TwoGpusWithOneUuidFail) {
  Snapshot node = three_gpus();
  gpu_of(node, 2).uuid = gpu_of(node, 0).uuid;
  EXPECT_THAT(judge(node, three_of_any_model()),
              ElementsAre(fails("gpu2", Remedy::report_to_provider, {"GPU-0"})));
}

TEST(GpuPresentTest, GpusWithoutSerialNumbersAndTheGpusOfOneBoardPass) {
  Snapshot node = three_gpus();
  for (auto& gpu : node.nvml->gpus) gpu.serial = ""s;
  EXPECT_THAT(judge(node, three_of_any_model()), ElementsAre(passes()));
  for (auto& gpu : node.nvml->gpus) gpu.serial = "0324817000000"s;
  EXPECT_THAT(judge(node, three_of_any_model()), ElementsAre(passes()));
}

TEST(GpuPresentTest, MoreGpusThanExpectedFail) {
  EXPECT_THAT(judge(three_gpus()), ElementsAre(fails("node", Remedy::fix_config, {3, 2})));
  Profile none = three_of_any_model();
  none.gpu->present.count = 0;
  EXPECT_THAT(judge(three_gpus(), none), ElementsAre(fails("node", Remedy::fix_config, {3, 0})));
}

TEST(GpuPresentTest, IfNvmlIsMissingNoGpuIsJudged) {
  Snapshot node = gpu_node::node();
  node.nvml = {.status = Status::absent, .reason = "libnvidia-ml.so.1: cannot open"};
  EXPECT_THAT(judge(node), ElementsAre(skips()));
  EXPECT_THAT(judge(node, Profile{}), ElementsAre(skips()));
}

TEST(GpuPresentTest, OneCallThatReturnsForNoGpuIsTheDriversFault) {
  Snapshot node = gpu_node::node();
  for (auto& gpu : node.nvml->gpus) gpu.stuck = "nvmlDeviceGetTemperature";
  EXPECT_THAT(judge(node),
              ElementsAre(lost("node", Remedy::reboot, "NHC2015", "nvmlDeviceGetTemperature")));
  gpu_of(node, 1).stuck = "nvmlDeviceGetName";
  EXPECT_EQ(judge(node).size(), 2U) << "each in its own call";
}

}  // namespace
}  // namespace muster::gpu_present_test
