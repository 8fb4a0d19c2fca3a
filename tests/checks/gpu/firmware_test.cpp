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

Expected odd(Value observed, Value limit) {
  return {.device = "gpu0",
          .outcome = Outcome::warn,
          .observed = std::move(observed),
          .limit = std::move(limit),
          .remedy = Remedy::fix_config};
}

const Expected kCorrupt{.device = "gpu0",
                        .outcome = Outcome::fail,
                        .observed = false,
                        .limit = true,
                        .remedy = Remedy::report_to_provider,
                        .code = "NHC2008"};

TEST(GpuFirmwareTest, PassesGpusThatAgree) {
  EXPECT_THAT(judge(linked_node::node()), ElementsAre(passes()));
}

TEST(GpuFirmwareTest, DoesNotCallAnInforomValidThatWasNotRead) {
  Snapshot node = linked_node::node();
  firmware_of(node, 1).inforom_valid =
      Fact<bool>::absent("read in the contexts manual and boot only");
  EXPECT_THAT(judge(node), ElementsAre(passes()));
}

TEST(GpuFirmwareTest, FailsACorruptInforom) {
  Snapshot node = linked_node::node();
  firmware_of(node, 0).inforom_valid = false;
  EXPECT_THAT(judge(node), ElementsAre(kCorrupt, passes()));
  node.identity->hypervisor = false;
  EXPECT_EQ(judge(node).front().remedy, Remedy::reseat_or_replace);
}

TEST(GpuFirmwareTest, AnyCallMayHaveFoundItCorrupt) {
  Snapshot node = linked_node::node();
  gpu_node::gpu(node, 0).troubles = {"nvmlDeviceGetInforomImageVersion: corrupted (14)"};
  EXPECT_EQ(judge(node).front(), kCorrupt);
  gpu_node::gpu(node, 0).troubles = {"nvmlDeviceGetEccMode: GPU requires reset (16)"};
  EXPECT_THAT(judge(node), ElementsAre(passes()));
}

TEST(GpuFirmwareTest, NamesTheGpuThatDiffersFromMost) {
  Snapshot node = linked_node::node_of(4);
  firmware_of(node, 0).vbios = std::string("96.00.30.00.01");
  EXPECT_THAT(
      judge(node),
      ElementsAre(odd(std::string("96.00.30.00.01"), std::string("96.00.61.00.01")), passes()));
}

TEST(GpuFirmwareTest, ABoardThatDiffersInSeveralPartsIsOneFinding) {
  Snapshot node = linked_node::node_of(4);
  firmware_of(node, 0).vbios = std::string("96.00.30.00.01");
  firmware_of(node, 0).inforom = std::string("G520.0100.00.01");
  firmware_of(node, 0).gsp = std::string("535.1");
  EXPECT_THAT(
      judge(node),
      ElementsAre(odd(std::string("96.00.30.00.01"), std::string("96.00.61.00.01")), passes()));
}

TEST(GpuFirmwareTest, WithoutAMajorityTheNodeIsNamed) {
  Snapshot node = linked_node::node();
  firmware_of(node, 0).vbios = std::string("96.00.30.00.01");
  EXPECT_THAT(judge(node), ElementsAre(warns("node", Remedy::fix_config)));
}

TEST(GpuFirmwareTest, AnotherModelHasAnotherVersion) {
  Snapshot node = linked_node::node_of(3);
  gpu_node::gpu(node, 0).model = std::string("NVIDIA A100 80GB PCIe");
  firmware_of(node, 0).vbios = std::string("92.00");
  EXPECT_THAT(judge(node), ElementsAre(passes()));
}

TEST(GpuFirmwareTest, TheProfilesListGoesBeforeTheNeighbours) {
  Profile profile = linked_node::profile();
  profile.gpu->firmware = {.vbios = {"96.00.30.*", "96.00.61.*"}, .inforom = {"G520.0200.*"}};
  Snapshot node = linked_node::node_of(4);
  firmware_of(node, 0).vbios = std::string("96.00.30.00.01");
  EXPECT_THAT(judge(node, profile), ElementsAre(passes()));
  firmware_of(node, 0).vbios = std::string("95.00");
  firmware_of(node, 0).inforom = std::string("G520.0100.00.01");
  EXPECT_THAT(
      judge(node, profile),
      ElementsAre(odd(std::string("95.00"), std::string("96.00.30.*, 96.00.61.*")), passes()));
}

TEST(GpuFirmwareTest, WarnsOfAGspThatIsOff) {
  Snapshot node = linked_node::node();
  firmware_of(node, 0).gsp_enabled = false;
  EXPECT_THAT(judge(node), ElementsAre(odd(false, true), passes()));
  firmware_of(node, 1).gsp_enabled = false;
  EXPECT_THAT(judge(node), ElementsAre(warns("node", Remedy::fix_config, {false, true})));
  for (std::size_t i = 0; i < 2; ++i) firmware_of(node, i).gsp_default = false;
  EXPECT_THAT(judge(node), ElementsAre(passes()));
}

TEST(GpuFirmwareTest, IsUnknownForUnknownFacts) {
  const auto unclear = []() { return unknown("gpu0"); };
  Snapshot node = linked_node::node();
  firmware_of(node, 0).gsp_enabled = Fact<bool>::unreadable("N/A");
  EXPECT_EQ(judge(node).front(), unclear());
  firmware_of(node, 0).vbios = Fact<std::string>::unreadable("N/A");
  EXPECT_EQ(judge(node).front(), unclear());
  firmware_of(node, 0).inforom_valid = Fact<bool>::unreadable("N/A");
  EXPECT_EQ(judge(node).front(), unclear());
}

TEST(GpuFirmwareTest, SkipsAGpuWithoutFirmwareFacts) {
  Snapshot node = linked_node::node();
  firmware_of(node, 0) = {};
  EXPECT_EQ(judge(node).front(), (skips("gpu0")));
  firmware_of(node, 0).gsp = std::string("550.54.15");
  EXPECT_THAT(judge(node), ElementsAre(Field(&Finding::outcome, Outcome::pass)));
}

}  // namespace
}  // namespace muster::gpu_firmware_test
