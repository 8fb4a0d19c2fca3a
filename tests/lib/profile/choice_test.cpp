// SPDX-License-Identifier: Apache-2.0
#include "lib/profile/choice.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/temp_dir.hpp"

namespace muster {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Optional;
using ::testing::Pair;

Snapshot h100_node() {
  Snapshot snapshot;
  snapshot.identity =
      observed(Identity{.hostname = "gpu-1",
                        .dmi_vendor = std::string("Microsoft Corporation"),
                        .chassis_asset_tag = std::string("7783-7084-3265-9085-8269-3286-77")});
  snapshot.cpu = observed(Cpu{.cores = 96U});
  snapshot.memory = observed(Memory{.total_bytes = std::uint64_t{2000} << 30U});
  Pci pci;
  Infiniband infiniband;
  for (int i = 0; i < 8; ++i) {
    pci.devices.push_back({.kind = PciKind::gpu, .vendor = 0x10de, .device = 0x2330});
    infiniband.hcas.push_back({.ports = std::vector<IbPort>{{.link_layer = "InfiniBand"}}});
  }
  pci.devices.push_back({.kind = PciKind::ethernet, .vendor = 0x15b3, .device = 0x101a});
  infiniband.hcas.push_back({.ports = std::vector<IbPort>{{.link_layer = "Ethernet"}}});
  snapshot.pci = observed(pci);
  snapshot.infiniband = observed(infiniband);
  return snapshot;
}

Choice choice_for(const Snapshot& snapshot) {
  auto choice = recognised_profile({}, read_candidates({}), snapshot, load_profile);
  EXPECT_TRUE(choice) << choice.error().message;
  return choice ? *std::move(choice) : Choice{};
}

TEST(HardwareTest, ComesFromTheSnapshot) {
  const auto hardware = hardware_of(h100_node());
  EXPECT_EQ(hardware.chassis_asset_tag, "7783-7084-3265-9085-8269-3286-77");
  EXPECT_EQ(hardware.dmi_vendor, "Microsoft Corporation");
  EXPECT_THAT(hardware.gpu_pci_ids, Optional(ElementsAre(Pair("10de:2330", 8))));
  EXPECT_EQ(hardware.infiniband_hcas, 8);
  EXPECT_EQ(hardware.cores, 96);
  EXPECT_EQ(hardware.memory_bytes, 2000.0 * (1 << 30));
}

TEST(HardwareTest, CountsNvmeDisksOnTheBus) {
  auto snapshot = h100_node();
  EXPECT_EQ(hardware_of(snapshot).nvme_disks, 0);
  snapshot.pci->devices[0].kind = PciKind::nvme;
  EXPECT_EQ(hardware_of(snapshot).nvme_disks, 1);
  snapshot.pci.status = Status::error;
  EXPECT_EQ(hardware_of(snapshot).nvme_disks, std::nullopt);
}

TEST(HardwareTest, CountsHcasWithoutADriver) {
  auto snapshot = h100_node();
  snapshot.infiniband = {};
  for (auto& device : snapshot.pci->devices) device.kind = PciKind::hca;
  EXPECT_EQ(hardware_of(snapshot).infiniband_hcas, 9);
}

TEST(HardwareTest, CountsRdmaDevicesWithoutALinkLayer) {
  auto snapshot = h100_node();
  snapshot.infiniband->hcas[0].ports = Fact<std::vector<IbPort>>::unreadable("denied");
  snapshot.infiniband->hcas[1].ports->front().link_layer = "";
  EXPECT_EQ(hardware_of(snapshot).infiniband_hcas, 8);
}

TEST(HardwareTest, DoesNotCountEthernetDevicesOfTheBus) {
  auto snapshot = h100_node();
  snapshot.pci->devices.push_back({.address = "0107:00:00.0", .kind = PciKind::ethernet});
  snapshot.infiniband->hcas[0] = {.address = std::string("0107:00:00.0")};
  EXPECT_EQ(hardware_of(snapshot).infiniband_hcas, 7);
}

TEST(HardwareTest, DoesNotCountVirtualFunctionsOfAHost) {
  auto snapshot = h100_node();
  snapshot.pci->devices.push_back(
      {.address = "0107:00:00.1", .kind = PciKind::hca, .virtual_function = true});
  snapshot.infiniband->hcas.push_back(
      {.address = std::string("0107:00:00.1"), .virtual_function = true});
  EXPECT_EQ(hardware_of(snapshot).infiniband_hcas, 8);
}

// ChoiceTest.DoesNotReportUnobservedHardwareAsMissing has a snapshot in which all is unknown.
TEST(HardwareTest, DoesNotKnowHcasWithoutTheBus) {
  auto snapshot = h100_node();
  snapshot.pci = {.status = Status::error, .reason = "read class: Permission denied"};
  EXPECT_EQ(hardware_of(snapshot).infiniband_hcas, 8);
  snapshot.infiniband->hcas.clear();
  EXPECT_EQ(hardware_of(snapshot).infiniband_hcas, std::nullopt);
  snapshot.infiniband = {};
  snapshot.pci = observed(Pci{});
  EXPECT_EQ(hardware_of(snapshot).infiniband_hcas, 0);
}

TEST(HardwareTest, DistinguishesMissingFromUnreadableDmi) {
  auto snapshot = h100_node();
  snapshot.identity->chassis_asset_tag = Fact<std::string>::absent("no DMI");
  snapshot.identity->dmi_vendor = Fact<std::string>::unreadable("Permission denied");
  EXPECT_EQ(hardware_of(snapshot).chassis_asset_tag, "");
  EXPECT_EQ(hardware_of(snapshot).dmi_vendor, std::nullopt);
}

TEST(ChoiceTest, RecognisesTheHardware) {
  EXPECT_EQ(choice_for(h100_node()).profile.name, "nd96isr_h100_v5");
}

TEST(ChoiceTest, RecognisesANodeWithoutItsRdmaStack) {
  auto snapshot = h100_node();
  for (int i = 0; i < 8; ++i) {
    snapshot.pci->devices.push_back({.kind = PciKind::hca, .vendor = 0x15b3, .device = 0x101e});
  }
  snapshot.infiniband = {.status = Status::absent, .reason = "no RDMA core is loaded"};
  EXPECT_EQ(choice_for(snapshot).profile.name, "nd96isr_h100_v5");
}

TEST(ChoiceTest, DoesNotReportUnobservedHardwareAsMissing) {
  const auto choice = choice_for({});
  EXPECT_EQ(choice.profile.name, "generic");
  EXPECT_THAT(choice.evidence,
              ElementsAre("chassis asset tag unknown", "maker unknown", "GPUs unknown",
                          "InfiniBand HCAs unknown", "cores unknown, memory unknown",
                          MatchesRegex("too little is known to tell whether it is .* profiles")));
}

TEST(ChoiceTest, ReportsFailedProbesInTheEvidence) {
  auto snapshot = h100_node();
  snapshot.memory = {.status = Status::timeout, .reason = "no answer within 2 s"};
  EXPECT_EQ(choice_for(snapshot).evidence.back(), "the memory probe failed: no answer within 2 s");
}

TEST(ChoiceTest, UsesTheGivenNameOrElseTheSites) {
  const TempDir dir;
  dir.write("muster.yaml", "profile: nd96asr_v4\n");
  const ProfileSources site{.site = dir.path()};
  const auto given = profile_name(site, "generic").value().value();
  EXPECT_EQ(given.profile, "generic");
  EXPECT_EQ(given.evidence, "named by --profile");
  const auto of_site = profile_name(site, "").value().value();
  EXPECT_EQ(of_site.profile, "nd96asr_v4");
  EXPECT_THAT(of_site.evidence, HasSubstr("muster.yaml"));
  EXPECT_FALSE(profile_name({}, "").value().has_value());
}

TEST(ChoiceTest, LoadsANamedProfile) {
  const auto choice = named_profile(
      {}, {.profile = "nd96asr_v4", .evidence = "a friend", .place = ""}, load_profile);
  ASSERT_TRUE(choice) << choice.error().message;
  EXPECT_EQ(choice->profile.name, "nd96asr_v4");
  EXPECT_THAT(choice->evidence, ElementsAre("a friend"));
}

TEST(ChoiceTest, NamesThePlaceOfTheSitesUnknownProfile) {
  const TempDir dir;
  dir.write("muster.yaml", "schema: muster.site/1\nprofile: nd96isr_h100_v6\n");
  const ProfileSources site{.site = dir.path()};
  const auto choice = named_profile(site, profile_name(site, "").value().value(), load_profile);
  ASSERT_FALSE(choice);
  EXPECT_EQ(choice.error().status, 78);
  EXPECT_EQ(choice.error().message,
            fmt::format("{}/muster.yaml:2: 'profile': unknown profile 'nd96isr_h100_v6'; did "
                        "you mean 'nd96isr_h100_v5'?",
                        dir.path().string()));
}

TEST(DataFolderTest, IsInTheEnvironmentOrNextToTheProgram) {
  EXPECT_EQ(data_folder({{"MUSTER_DATA_DIR", "/opt/data"}}), "/opt/data");
  EXPECT_TRUE(data_folder({}).string().ends_with("/share/muster"));
}

}  // namespace
}  // namespace muster
