// SPDX-License-Identifier: Apache-2.0
// The driver, what it requests, and the firmware of GPUs.
#include "tests/checks/ask.hpp"
#include "tests/checks/gpu/linked_node.hpp"

namespace muster::gpu_driver_test {
namespace {

constexpr AskedCheck judge_driver{checks::gpu_driver::check, gpu_node::profile};

Snapshot with_driver(std::string driver) {
  Snapshot node = gpu_node::node();
  node.nvml->driver = driver;
  node.nvml->module = std::move(driver);
  return node;
}

TEST(GpuDriverTest, AMissingLibraryFailsANodeThatShouldHaveGpus) {
  Snapshot node = gpu_node::node();
  node.nvml = {.status = Status::absent, .reason = "libnvidia-ml.so.1: cannot open"};
  EXPECT_THAT(judge_driver(node), ElementsAre(fails("node", Remedy::fix_config)));
  EXPECT_THAT(judge_driver(node, Profile{}), ElementsAre(skips()));
  node.identity->foreign_root = true;
  EXPECT_THAT(judge_driver(node), ElementsAre(skips()));
  // Named by the user.
  node.nvml = observed(Nvml{.trouble = "x.so: cannot open", .trouble_code = 12});
  EXPECT_THAT(judge_driver(node), ElementsAre(fails("node", Remedy::fix_config)));
}

TEST(GpuDriverTest, AnyOtherTroubleOfNvmlNeedsAReboot) {
  Snapshot node = gpu_node::node();
  node.nvml = observed(Nvml{.trouble = "nvmlInit_v2: Unknown Error (999)", .trouble_code = 999});
  EXPECT_THAT(judge_driver(node), ElementsAre(fails("node", Remedy::reboot)));
  node.nvml = observed(
      Nvml{.trouble = "nvmlDeviceGetCount_v2 returns 65 GPUs, and muster reads at most 64"});
  EXPECT_THAT(judge_driver(node), ElementsAre(unknown()));
  for (const int code : {4, 20}) {
    node.nvml = observed(Nvml{.trouble = "nvmlInit_v2: refused", .trouble_code = code});
    EXPECT_THAT(judge_driver(node), ElementsAre(unknown())) << code;
  }
}

TEST(GpuDriverTest, ABrokenDriverOfGpusFailsWithoutExpectationIfNothingIsHidden) {
  Snapshot node = gpu_node::node();
  const auto judge = [&](const std::string& context) {
    return ask(checks::gpu_driver::check, node, Profile{}, {.name = context});
  };
  for (const int code : {9, 17, 18}) {
    node.nvml = observed(Nvml{.trouble = "nvmlInit_v2: broken", .trouble_code = code});
    EXPECT_THAT(judge("prolog"), ElementsAre(fails("node", Remedy::reboot))) << code;
    EXPECT_THAT(judge("manual"), ElementsAre(skips())) << code;
  }
  node.nvml->trouble_code = 12;
  EXPECT_THAT(judge("boot"), ElementsAre(fails("node", Remedy::fix_config)));
  node.nvml->trouble_code = 999;
  EXPECT_THAT(judge("boot"), ElementsAre(skips()));
  node.nvml->trouble_code = 18;
  node.identity->container = Container{.recognised_by = {"/.dockerenv"}};
  EXPECT_THAT(judge("boot"), ElementsAre(skips()));
  node.identity->container = absent("no sign of a container");
  for (auto& device : node.pci->devices) device.driver = "vfio-pci";
  EXPECT_THAT(judge("boot"), ElementsAre(skips()));
}

TEST(GpuDriverTest, ADriverThatIsTooOldOrNotAllowedFails) {
  Profile profile = gpu_node::profile();
  profile.gpu->driver = {.minimum = "535.161.08"s, .allowed = {"550.*", "570.*"}};
  EXPECT_THAT(judge_driver(with_driver("535.54.03"), profile),
              ElementsAre(fails("node", Remedy::fix_config, {"535.54.03", "535.161.08"}),
                          fails("node", Remedy::fix_config, {"535.54.03", "550.* or 570.*"})));
}

TEST(GpuDriverTest, ConfidentialGpusMustBeSetReady) {
  Snapshot node = gpu_node::node();
  node.nvml->driver = "580.65.06"s;
  node.nvml->confidential = true;
  node.nvml->confidential_ready = false;
  EXPECT_THAT(judge_driver(node), ElementsAre(fails("node", Remedy::restart_service)));
  node.nvml->confidential_ready = true;
  EXPECT_THAT(judge_driver(node), ElementsAre(passes()));
}

constexpr AskedCheck judge_firmware{checks::gpu_firmware::check, linked_node::profile};

GpuFirmware& firmware_of(Snapshot& node, std::size_t index) { return gpu_of(node, index).firmware; }

Expected odd(Value observed, Value limit) {
  return warns("gpu0", Remedy::fix_config, {std::move(observed), std::move(limit)});
}

const Expected kCorrupt = fails("gpu0", Remedy::report_to_provider, {false, true}, "NHC2008");

TEST(GpuFirmwareTest, AnInforomThatWasNotReadPasses) {
  Snapshot node = linked_node::node();
  firmware_of(node, 1).inforom_valid = absent();
  EXPECT_THAT(judge_firmware(node), ElementsAre(passes()));
}

TEST(GpuFirmwareTest, WithoutAMajorityTheNodeIsNamed) {
  Snapshot node = linked_node::node();
  firmware_of(node, 0).vbios = "96.00.30.00.01"s;
  EXPECT_THAT(judge_firmware(node), ElementsAre(warns("node", Remedy::fix_config)));
}

TEST(GpuFirmwareTest, AnyCallMayHaveFoundItCorrupt) {
  Snapshot node = linked_node::node();
  gpu_of(node, 0).troubles = {"nvmlDeviceGetInforomImageVersion: corrupted (14)"};
  EXPECT_EQ(judge_firmware(node).front(), kCorrupt);
  gpu_of(node, 0).troubles = {"nvmlDeviceGetEccMode: GPU requires reset (16)"};
  EXPECT_THAT(judge_firmware(node), ElementsAre(passes()));
  node.identity->hypervisor = false;
  firmware_of(node, 0).inforom_valid = false;
  EXPECT_EQ(judge_firmware(node).front().remedy, Remedy::reseat_or_replace);
}

TEST(GpuFirmwareTest, ABoardThatDiffersInSeveralPartsIsOneFinding) {
  Snapshot node = linked_node::node_of(4);
  firmware_of(node, 0).vbios = "96.00.30.00.01"s;
  firmware_of(node, 0).inforom = "G520.0100.00.01"s;
  firmware_of(node, 0).gsp = "535.1"s;
  EXPECT_THAT(judge_firmware(node),
              ElementsAre(odd("96.00.30.00.01"s, "96.00.61.00.01"s), passes()));
}

TEST(GpuFirmwareTest, AnotherModelHasAnotherVersion) {
  Snapshot node = linked_node::node_of(3);
  gpu_of(node, 0).model = "NVIDIA A100 80GB PCIe"s;
  firmware_of(node, 0).vbios = "92.00"s;
  EXPECT_THAT(judge_firmware(node), ElementsAre(passes()));
}

TEST(GpuFirmwareTest, TheProfilesListGoesBeforeTheNeighbours) {
  Profile profile = linked_node::profile();
  profile.gpu->firmware = {.vbios = {"96.00.30.*", "96.00.61.*"}, .inforom = {"G520.0200.*"}};
  Snapshot node = linked_node::node_of(4);
  firmware_of(node, 0).vbios = "96.00.30.00.01"s;
  EXPECT_THAT(judge_firmware(node, profile), ElementsAre(passes()));
  firmware_of(node, 0).vbios = "95.00"s;
  firmware_of(node, 0).inforom = "G520.0100.00.01"s;
  EXPECT_THAT(judge_firmware(node, profile),
              ElementsAre(odd("95.00"s, "96.00.30.*, 96.00.61.*"s), passes()));
}

TEST(GpuFirmwareTest, WarnsOfAGspThatIsOff) {
  Snapshot node = linked_node::node();
  firmware_of(node, 0).gsp_enabled = false;
  EXPECT_THAT(judge_firmware(node), ElementsAre(odd(false, true), passes()));
  firmware_of(node, 1).gsp_enabled = false;
  EXPECT_THAT(judge_firmware(node), ElementsAre(warns("node", Remedy::fix_config, {false, true})));
  for (std::size_t i = 0; i < 2; ++i) firmware_of(node, i).gsp_default = false;
  EXPECT_THAT(judge_firmware(node), ElementsAre(passes()));
}

TEST(GpuFirmwareTest, IsUnknownForUnknownFacts) {
  Snapshot node = linked_node::node();
  firmware_of(node, 0).gsp_enabled = unreadable();
  EXPECT_EQ(judge_firmware(node).front(), unknown("gpu0"));
  firmware_of(node, 0).vbios = unreadable();
  EXPECT_EQ(judge_firmware(node).front(), unknown("gpu0"));
  firmware_of(node, 0).inforom_valid = unreadable();
  EXPECT_EQ(judge_firmware(node).front(), unknown("gpu0"));
}

TEST(GpuFirmwareTest, SkipsAGpuWithoutFirmwareFacts) {
  Snapshot node = linked_node::node();
  firmware_of(node, 0) = {};
  EXPECT_EQ(judge_firmware(node).front(), (skips("gpu0")));
  firmware_of(node, 0).gsp = "550.54.15"s;
  EXPECT_THAT(judge_firmware(node), ElementsAre(is(Outcome::pass)));
}

TEST(GpuRecoveryActionTest, HasTheCategoryOfTheRequest) {
  Snapshot node = gpu_node::bare_metal();
  gpu_of(node, 0).recovery_action = 1U;
  gpu_of(node, 1).recovery_action = 2U;
  const auto findings = ask(checks::gpu_recovery_action::check, node, gpu_node::profile());
  EXPECT_THAT(findings, ElementsAre(::testing::Field(&Finding::category, "Resource.Hpc.Reset"),
                                    ::testing::Field(&Finding::category, "Resource.Hpc.Reboot")));
}

TEST(GpuRecoveryActionTest, ARequestForMoreThanAResetWinsOverAnErrorThatNeedsOne) {
  Snapshot node = gpu_node::bare_metal();
  gpu_of(node, 0).troubles = {"nvmlDeviceGetEccMode: GPU requires reset (16)"};
  for (const auto& [action, remedy] :
       {std::pair(0U, Remedy::reset_gpu), std::pair(1U, Remedy::reset_gpu),
        std::pair(2U, Remedy::reboot), std::pair(4U, Remedy::reset_gpu),
        std::pair(5U, Remedy::reset_gpu), std::pair(6U, Remedy::reboot),
        std::pair(7U, Remedy::reboot), std::pair(42U, Remedy::reboot)}) {
    gpu_of(node, 0).recovery_action = action;
    const auto findings = ask(checks::gpu_recovery_action::check, node, gpu_node::profile());
    EXPECT_THAT(findings, ElementsAre(is(Outcome::fail, "gpu0"), passes()));
    EXPECT_EQ(findings.front().remedy, remedy) << action;
    EXPECT_EQ(findings.front().category, action == 2 ? "Resource.Hpc.Reboot" : "") << action;
  }
  gpu_of(node, 0).recovery_action = absent();
  EXPECT_EQ(ask(checks::gpu_recovery_action::check, node, gpu_node::profile()).front().remedy,
            Remedy::reset_gpu);
}

TEST(GpuRecoveryActionTest, AnUnknownActionIsNoneOfTheHarmlessOnes) {
  Snapshot node = gpu_node::node();
  gpu_of(node, 0).recovery_action = 42U;
  EXPECT_EQ(ask(checks::gpu_recovery_action::check, node, gpu_node::profile()).front().outcome,
            Outcome::fail);
}

}  // namespace
}  // namespace muster::gpu_driver_test
