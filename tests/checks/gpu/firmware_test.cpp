// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checks/catalogue.hpp"
#include "lib/profile/limits/gpu.hpp"
#include "tests/checks/ask.hpp"
#include "tests/checks/gpu/linked_node.hpp"
#include "tests/support/printers.hpp"

namespace muster::gpu_firmware_test {
namespace {

using ::testing::ElementsAre;
using ::testing::Field;

Findings judge(const Snapshot& snapshot, const Profile& profile = linked_node::profile()) {
  return ask(checks::gpu_firmware::check, snapshot, profile);
}

GpuFirmware& firmware_of(Snapshot& node, std::size_t index) {
  return gpu_node::gpu(node, index).firmware;
}

Finding well(std::string_view gpus) {
  return {.device = "node",
          .outcome = Outcome::pass,
          .message = fmt::format("{} with valid InfoROM and the firmware they should have", gpus)};
}

Finding odd(std::string message, Value observed, Value limit) {
  return {.device = "gpu0",
          .outcome = Outcome::warn,
          .message = fmt::format("{} (serial 165092300)", message),
          .observed = std::move(observed),
          .limit = std::move(limit),
          .remedy = Remedy::fix_config};
}

const Finding kCorrupt{.device = "gpu0",
                       .outcome = Outcome::fail,
                       .message = "the InfoROM is corrupt (serial 165092300)",
                       .observed = false,
                       .limit = true,
                       .remedy = Remedy::report_to_provider,
                       .code = "NHC2008"};

TEST(GpuFirmwareTest, PassesGpusThatAgree) {
  EXPECT_THAT(judge(linked_node::node()), ElementsAre(well("2 GPUs")));
}

TEST(GpuFirmwareTest, DoesNotCallAnInforomValidThatWasNotRead) {
  Snapshot node = linked_node::node();
  firmware_of(node, 1).inforom_valid =
      Fact<bool>::absent("read in the contexts manual and boot only");
  EXPECT_THAT(judge(node),
              ElementsAre(gpu_node::well("with the firmware they should have; whether the InfoROM "
                                         "is valid was not read")));
}

TEST(GpuFirmwareTest, FailsACorruptInforom) {
  Snapshot node = linked_node::node();
  firmware_of(node, 0).inforom_valid = false;
  EXPECT_THAT(judge(node), ElementsAre(kCorrupt, well("1 GPU")));
  node.identity->hypervisor = false;
  EXPECT_EQ(judge(node).front().remedy, Remedy::reseat_or_replace);
}

TEST(GpuFirmwareTest, AnyCallMayHaveFoundItCorrupt) {
  Snapshot node = linked_node::node();
  gpu_node::gpu(node, 0).troubles = {"nvmlDeviceGetInforomImageVersion: corrupted (14)"};
  EXPECT_EQ(judge(node).front(), kCorrupt);
  gpu_node::gpu(node, 0).troubles = {"nvmlDeviceGetEccMode: GPU requires reset (16)"};
  EXPECT_THAT(judge(node), ElementsAre(well("2 GPUs")));
}

TEST(GpuFirmwareTest, NamesTheGpuThatDiffersFromMost) {
  Snapshot node = linked_node::node_of(4);
  firmware_of(node, 0).vbios = std::string("96.00.30.00.01");
  EXPECT_THAT(judge(node),
              ElementsAre(odd("VBIOS 96.00.30.00.01, but 96.00.61.00.01 on 3 of 4 GPUs",
                              std::string("96.00.30.00.01"), std::string("96.00.61.00.01")),
                          well("3 GPUs")));
}

TEST(GpuFirmwareTest, ABoardThatDiffersInSeveralPartsIsOneFinding) {
  Snapshot node = linked_node::node_of(4);
  firmware_of(node, 0).vbios = std::string("96.00.30.00.01");
  firmware_of(node, 0).inforom = std::string("G520.0100.00.01");
  firmware_of(node, 0).gsp = std::string("535.1");
  EXPECT_THAT(judge(node),
              ElementsAre(odd("VBIOS 96.00.30.00.01, but 96.00.61.00.01 on 3 of 4 GPUs; InfoROM "
                              "G520.0100.00.01, but G520.0200.00.05 on 3 of 4 GPUs; GSP firmware "
                              "535.1, but 550.54.15 on 3 of 4 GPUs",
                              std::string("96.00.30.00.01"), std::string("96.00.61.00.01")),
                          well("3 GPUs")));
}

TEST(GpuFirmwareTest, WithoutAMajorityTheNodeIsNamed) {
  Snapshot node = linked_node::node();
  firmware_of(node, 0).vbios = std::string("96.00.30.00.01");
  EXPECT_THAT(judge(node),
              ElementsAre(Finding{.device = "node",
                                  .outcome = Outcome::warn,
                                  .message = "VBIOS differs between GPUs: 96.00.30.00.01 on gpu0; "
                                             "96.00.61.00.01 on gpu1",
                                  .remedy = Remedy::fix_config}));
}

TEST(GpuFirmwareTest, AnotherModelHasAnotherVersion) {
  Snapshot node = linked_node::node_of(3);
  gpu_node::gpu(node, 0).model = std::string("NVIDIA A100 80GB PCIe");
  firmware_of(node, 0).vbios = std::string("92.00");
  EXPECT_THAT(judge(node), ElementsAre(well("3 GPUs")));
}

TEST(GpuFirmwareTest, TheProfilesListGoesBeforeTheNeighbours) {
  Profile profile = linked_node::profile();
  profile.gpu->firmware = {.vbios = {"96.00.30.*", "96.00.61.*"}, .inforom = {"G520.0200.*"}};
  Snapshot node = linked_node::node_of(4);
  firmware_of(node, 0).vbios = std::string("96.00.30.00.01");
  EXPECT_THAT(judge(node, profile), ElementsAre(well("4 GPUs")));
  firmware_of(node, 0).vbios = std::string("95.00");
  firmware_of(node, 0).inforom = std::string("G520.0100.00.01");
  EXPECT_THAT(judge(node, profile),
              ElementsAre(odd("VBIOS 95.00, allowed 96.00.30.*, 96.00.61.*; InfoROM "
                              "G520.0100.00.01, allowed G520.0200.*",
                              std::string("95.00"), std::string("96.00.30.*, 96.00.61.*")),
                          well("3 GPUs")));
}

TEST(GpuFirmwareTest, WarnsOfAGspThatIsOff) {
  Snapshot node = linked_node::node();
  firmware_of(node, 0).gsp_enabled = false;
  EXPECT_THAT(judge(node),
              ElementsAre(odd("the GSP is off, by default it is on", false, true), well("1 GPU")));
  firmware_of(node, 1).gsp_enabled = false;
  EXPECT_THAT(judge(node),
              ElementsAre(Finding{.device = "node",
                                  .outcome = Outcome::warn,
                                  .message = "the GSP is off on all 2 GPUs, by default it is on",
                                  .observed = false,
                                  .limit = true,
                                  .remedy = Remedy::fix_config}));
  for (std::size_t i = 0; i < 2; ++i) firmware_of(node, i).gsp_default = false;
  EXPECT_THAT(judge(node), ElementsAre(well("2 GPUs")));
}

TEST(GpuFirmwareTest, SaysWhatIsNotKnown) {
  const auto unclear = [](std::string message) {
    return Finding{.device = "gpu0", .outcome = Outcome::unknown, .message = std::move(message)};
  };
  Snapshot node = linked_node::node();
  firmware_of(node, 0).gsp_enabled = Fact<bool>::unreadable("N/A");
  EXPECT_EQ(judge(node).front(), unclear("whether the GSP runs is not known: N/A"));
  firmware_of(node, 0).vbios = Fact<std::string>::unreadable("N/A");
  EXPECT_EQ(judge(node).front(), unclear("the version of the VBIOS is not known: N/A"));
  firmware_of(node, 0).inforom_valid = Fact<bool>::unreadable("N/A");
  EXPECT_EQ(judge(node).front(), unclear("whether the InfoROM is valid is not known: N/A"));
}

TEST(GpuFirmwareTest, SkipsAGpuThatTellsNothing) {
  Snapshot node = linked_node::node();
  firmware_of(node, 0) = {};
  EXPECT_EQ(judge(node).front(),
            (Finding{.device = "gpu0",
                     .outcome = Outcome::skip,
                     .message = "the version of the VBIOS is not known: not observed"}));
  firmware_of(node, 0).gsp = std::string("550.54.15");
  EXPECT_THAT(judge(node), ElementsAre(Field(&Finding::outcome, Outcome::pass)));
}

}  // namespace
}  // namespace muster::gpu_firmware_test
