// SPDX-License-Identifier: Apache-2.0
// The profile that is chosen for a node, healthy or with parts missing, and the evidence; then what
// identifies a node in a snapshot, and profiles that are named.
#include "lib/profile/choice.hpp"

#include <fmt/format.h>

#include "tests/lib/profile/profile_files.hpp"
#include "tests/support/matchers.hpp"
#include "tests/support/temp_dir.hpp"

namespace muster {
namespace {

using ::testing::MatchesRegex;
using ::testing::Optional;
using ::testing::Pair;

constexpr double kGiB = 1024.0 * 1024 * 1024;
constexpr const char* kAzure = "7783-7084-3265-9085-8269-3286-77";

Hardware azure_node(GpuIds gpus, int hcas, int cores, double memory_gib) {
  return {.chassis_asset_tag = kAzure,
          .dmi_vendor = "Microsoft Corporation",
          .gpu_pci_ids = std::move(gpus),
          .infiniband_hcas = hcas,
          .cores = cores,
          .memory_bytes = memory_gib * kGiB};
}

Hardware nd_h100() { return azure_node({{"10de:2330", 8}}, 8, 96, 1870); }
Hardware nd_a100_without_gpus() { return azure_node({}, 8, 96, 886); }

constexpr std::string_view kNdA100 =
    "gpu_pci_ids: ['10de:20b0'], infiniband: true, gpus: 8, hcas: 8, cores: 96, memory: 885 GiB";

template <class T>
Hardware with(Hardware node, T Hardware::*fact, std::type_identity_t<T> value) {
  node.*fact = std::move(value);
  return node;
}

class RecogniseTest : public ::testing::Test {
 protected:
  RecogniseTest() {
    files.shipped("generic", "summary: any node\n");
    add("nd96isr_h100_v5", "gpu_pci_ids: ['10de:2330'], infiniband: true, gpus: 8, hcas: 8");
    files.shipped("nd96is_h100_v5",
                  "extends: nd96isr_h100_v5\nrecognise: {infiniband: false, hcas: 0}\n");
    add("nd96isr_h200_v5", "gpu_pci_ids: ['10de:2335'], infiniband: true, gpus: 8, hcas: 8");
    add("nc24ads_a100_v4",
        "gpu_pci_ids: ['10de:20b5'], infiniband: false, gpus: 1, cores: 24, memory: 216 GiB");
    add("nc48ads_a100_v4",
        "gpu_pci_ids: ['10de:20b5'], infiniband: false, gpus: 2, cores: 48, memory: 433 GiB");
    add("nc96ads_a100_v4",
        "gpu_pci_ids: ['10de:20b5'], infiniband: false, gpus: 4, cores: 96, memory: 866 GiB");
    add("hb120rs_v3", "infiniband: true, gpus: 0, hcas: 1, cores: 120, memory: 449 GiB");
    add("hb120_96rs_v3", "infiniband: true, gpus: 0, hcas: 1, cores: 96, memory: 449 GiB");
  }

  void add(std::string_view name, std::string_view recognise) const {
    files.shipped(name,
                  fmt::format("recognise: {{chassis_asset_tag: {}, {}}}\n", kAzure, recognise));
  }

  Recognised of(const Hardware& hardware) const {
    const auto candidates = read_candidates(files.sources());
    return candidates ? choose(*candidates, hardware)
                      : Recognised{.profile = candidates.error().message};
  }

  void expect(const Hardware& node, std::string_view profile, std::string_view last = "") const {
    const auto result = of(node);
    EXPECT_EQ(result.profile, profile);
    if (last.empty()) return;
    EXPECT_EQ(result.evidence.back(), last);
  }

  ProfileFiles files;
};

TEST_F(RecogniseTest, RecognisesAHealthyNode) {
  const auto result = of(nd_h100());
  EXPECT_EQ(result.profile, "nd96isr_h100_v5");
  EXPECT_THAT(result.evidence, ElementsAre("chassis asset tag says Azure", "8 x 10de:2330",
                                           "8 InfiniBand HCAs", "96 cores, 1.826 TiB"));
}

TEST_F(RecogniseTest, ChoosesByTheHardware) {
  expect(azure_node({{"10de:2330", 5}}, 3, 96, 1870), "nd96isr_h100_v5");  // parts are missing
  expect(azure_node({{"10de:2330", 8}}, 0, 96, 1870), "nd96is_h100_v5");
  expect(azure_node({}, 1, 96, 448.7), "hb120_96rs_v3");
  expect(azure_node({{"10de:ffff", 1}}, 1, 120, 449), "generic");     // not a CPU node
  expect(azure_node({{"1a03:2000", 1}}, 1, 120, 449), "hb120rs_v3");  // a display adapter
}

TEST_F(RecogniseTest, LosingEveryHcaDoesNotHideAModelThatAlwaysHasThem) {
  expect(azure_node({{"10de:2335", 8}}, 0, 96, 1870), "nd96isr_h200_v5");
  EXPECT_THAT(of(azure_node({{"10de:2335", 8}}, 0, 96, 1870)).evidence,
              Contains("every profile with these GPUs has InfiniBand: the HCAs are missing"));
}

TEST_F(RecogniseTest, CountsChooseTheNearestSize) {
  expect(azure_node({{"10de:20b5", 1}}, 0, 96, 860), "nc96ads_a100_v4",
         "counts are nearest to it among nc24ads_a100_v4, nc48ads_a100_v4, nc96ads_a100_v4");
}

TEST_F(RecogniseTest, AGpuNodeWithoutGpusIsNotACpuNode) {
  const Hardware node = azure_node({}, 8, 96, 1870);
  expect(node, "generic", "no profile matches");
  EXPECT_THAT(of(node).evidence, Contains("no GPU on the bus"));
}

TEST_F(RecogniseTest, RecognisesANodeThatLostAllItsGpusIfItIsOfTheSameSize) {
  add("nd96asr_v4", kNdA100);
  const Hardware lost = nd_a100_without_gpus();
  expect(lost, "nd96asr_v4", "its GPUs are missing");
  for (const auto& node :
       {with(lost, &Hardware::infiniband_hcas, 7), with(lost, &Hardware::cores, 95),
        with(lost, &Hardware::memory_bytes, 800 * kGiB),
        with(lost, &Hardware::chassis_asset_tag, "")}) {
    expect(node, "generic", "no profile matches");
  }
}

// `generic` would call it healthy.
TEST_F(RecogniseTest, JudgesAnAmbiguousNodeWithoutGpusAsOneKind) {
  add("nd96asr_v4", kNdA100);
  add("nd96asr_other", kNdA100);
  expect(nd_a100_without_gpus(), "nd96asr_other",
         "ambiguous: nd96asr_other, nd96asr_v4 match equally well; judged as nd96asr_other");
  EXPECT_THAT(of(nd_a100_without_gpus()).evidence, Contains("its GPUs are missing"));
}

// An M-series VM has as many cores and as much memory as an ND H100, and never had a GPU.
TEST_F(RecogniseTest, AMachineOfTheSameSizeIsNotAGpuNode) {
  files.shipped("nd96is_h100_v5",
                fmt::format("recognise: {{chassis_asset_tag: {}, gpu_pci_ids: ['10de:2330'], "
                            "infiniband: false, gpus: 8, cores: 96, memory: 1870 GiB}}\n",
                            kAzure));
  const Hardware node = azure_node({}, 0, 96, 1870);
  expect(with(node, &Hardware::nvswitches, 0), "generic");
  expect(with(node, &Hardware::nvswitches, 4), "nd96is_h100_v5", "its GPUs are missing");
}

TEST_F(RecogniseTest, TheDmiProductShowsThatGpusAreMissing) {
  files.site_profile("our_dgx",
                     "recognise: {dmi_vendor: NVIDIA, dmi_product: DGXH100*, cores: 112, "
                     "memory: 2015 GiB, gpu_pci_ids: ['10de:2330']}\n");
  const Hardware node{.chassis_asset_tag = "",
                      .dmi_vendor = "NVIDIA",
                      .dmi_product = "DGXH100",
                      .gpu_pci_ids = GpuIds{},
                      .infiniband_hcas = 0,
                      .cores = 112,
                      .memory_bytes = 2015 * kGiB};
  expect(node, "our_dgx");
  expect(with(node, &Hardware::dmi_product, "DGXA100"), "generic");
}

TEST_F(RecogniseTest, TheCloudsNameOverridesTheHardware) {
  Hardware node = azure_node({}, 0, 96, 0);
  node.memory_bytes.reset();
  node.instance_size = "Standard_ND96isr_H100_v5";
  const auto result = of(node);
  EXPECT_EQ(result.profile, "nd96isr_h100_v5");
  EXPECT_EQ(result.evidence.front(), "its cloud calls it Standard_ND96isr_H100_v5");
  expect(with(node, &Hardware::instance_size, "STANDARD_nd96is_h100_V5"), "nd96is_h100_v5");
}

TEST_F(RecogniseTest, TheCloudsNameMayBeAnAlias) {
  files.shipped("nd96isr_h200_v5",
                "aliases: [ND96isrf_H200_v5]\nrecognise: {gpu_pci_ids: ['10de:2335']}\n");
  files.site_profile("our_p5", "aliases: [p5.48xlarge]\n");
  expect({.instance_size = "Standard_ND96isrf_H200_v5"}, "nd96isr_h200_v5");
  expect({.instance_size = "p5.48xlarge"}, "our_p5");
}

TEST_F(RecogniseTest, AnUnknownSizeIsNotANodeThatLostItsGpus) {
  add("nd96asr_v4", kNdA100);
  expect(with(nd_a100_without_gpus(), &Hardware::instance_size, "Standard_M96ms_v3"), "generic");
  expect(with(nd_h100(), &Hardware::instance_size, "Standard_ND96_tomorrow"), "nd96isr_h100_v5");
}

TEST_F(RecogniseTest, TheSitesProfileOverridesTheCloudsName) {
  files.site_profile("our_h100", "extends: nd96isr_h100_v5\nrecognise: {}\n");
  expect(with(nd_h100(), &Hardware::instance_size, "Standard_ND96isr_H100_v5"), "our_h100");
}

TEST_F(RecogniseTest, AnotherVendorsNodeWithTheSameGpusMatchesNothing) {
  Hardware node = nd_h100();
  node.chassis_asset_tag = "";
  node.dmi_vendor = "Example\nCorp";
  const auto result = of(node);
  EXPECT_EQ(result.profile, "generic");
  EXPECT_THAT(result.evidence, Contains("made by Example\\x0aCorp"));
}

TEST_F(RecogniseTest, ReportsAmbiguityInsteadOfGuessing) {
  add("hb120rs_v2", "infiniband: true, gpus: 0, hcas: 1, cores: 120, memory: 449 GiB");
  expect(azure_node({}, 1, 120, 448.7), "generic",
         "ambiguous: hb120rs_v2, hb120rs_v3 match equally well; name one of them");
}

TEST_F(RecogniseTest, DisksDecideOnlyBetweenEqualProfiles) {
  add("a1", "infiniband: true, hcas: 1, cores: 44, memory: 346 GiB, nvme: 1");
  add("a2", "infiniband: true, hcas: 1, cores: 44, memory: 346 GiB, nvme: 2");
  const auto node = [](int disks) {
    return with(azure_node({}, 1, 44, 346), &Hardware::nvme_disks, disks);
  };
  expect(node(2), "a2");
  EXPECT_THAT(of(node(2)).evidence, Contains("NVMe disks: 2, unlike a1"));
  expect(node(0), "generic", "ambiguous: a1, a2 match equally well; name one of them");
  add("a2", "infiniband: true, hcas: 1, cores: 42, memory: 346 GiB, nvme: 2");
  expect(node(2), "a1");
}

TEST_F(RecogniseTest, TheSitesProfilesAreCandidates) {
  files.site_profile("our_dgx", "recognise: {dmi_vendor: NVIDIA*, gpu_pci_ids: ['10de:2330']}\n");
  Hardware node = nd_h100();
  node.chassis_asset_tag = "Default string";
  node.dmi_vendor = "NVIDIA Corporation";
  expect(node, "our_dgx");
}

TEST_F(RecogniseTest, PrefersTheSitesProfileToAnEqualShippedOne) {
  files.site_profile("our_h100", "extends: nd96isr_h100_v5\nrecognise: {}\n");
  expect(nd_h100(), "our_h100", "the site's own profile among nd96isr_h100_v5, our_h100");
}

TEST_F(RecogniseTest, UnknownFactsNeitherMatchNorExclude) {
  const auto result = of(with(nd_h100(), &Hardware::infiniband_hcas, std::nullopt));
  EXPECT_EQ(result.profile, "generic");
  EXPECT_THAT(result.evidence,
              ElementsAre("chassis asset tag says Azure", "8 x 10de:2330",
                          "InfiniBand HCAs unknown", "96 cores, 1.826 TiB",
                          "too little is known to tell whether it is nd96is_h100_v5, "
                          "nd96isr_h100_v5"));
}

TEST_F(RecogniseTest, ReportsProfilesThatMayFit) {
  files.shipped("our_dgx", "recognise: {dmi_vendor: Micro*, gpu_pci_ids: ['10de:2330']}\n");
  const auto result = of(with(nd_h100(), &Hardware::chassis_asset_tag, std::nullopt));
  EXPECT_EQ(result.profile, "our_dgx");
  EXPECT_THAT(result.evidence,
              ElementsAre("chassis asset tag unknown", "made by Microsoft Corporation",
                          "8 x 10de:2330", "8 InfiniBand HCAs", "96 cores, 1.826 TiB",
                          "too little is known to tell whether it is rather nd96isr_h100_v5"));
}

TEST_F(RecogniseTest, ReportsASiteProfileWithoutARecogniseBlock) {
  files.site_profile("nd96isr_h100_v5", "extends: nd96isr_h100_v5\n");
  expect(nd_h100(), "generic",
         "the site's nd96isr_h100_v5 has no recognise block, so no node is recognised as it");
}

TEST_F(RecogniseTest, AParentOfSiteProfilesNeedsNoRecogniseBlock) {
  files.site_profile("our_base", "extends: nd96isr_h100_v5\n");
  files.site_profile("our_h100", "extends: our_base\nrecognise: {}\n");
  expect(nd_h100(), "our_h100", "the site's own profile among nd96isr_h100_v5, our_h100");
}

TEST_F(RecogniseTest, AMisspelledKeyOfTheSitesProfileIsAnError) {
  files.site_profile("ours", "recognize: {gpus: 8}\n");
  EXPECT_EQ(of(nd_h100()).profile,
            fmt::format("{}:2: unknown key 'recognize'; did you mean 'recognise'?",
                        files.path("etc/profiles/ours.yaml")));
}

TEST_F(RecogniseTest, InvalidYamlOfTheSiteIsAnError) {
  files.site_profile("ours", "recognise: {gpus: 8\n");
  EXPECT_THAT(of(nd_h100()).profile, HasSubstr("ours.yaml:3: invalid YAML"));
}

TEST_F(RecogniseTest, ReportsAnErrorInARecogniseBlock) {
  files.shipped("y", "recognise:\n  gpu: 8\n");
  EXPECT_EQ(of(nd_h100()).profile,
            "profiles/y.yaml:3: unknown key 'recognise.gpu'; did you mean 'recognise.gpus'?");
}

TEST_F(RecogniseTest, IgnoresErrorsElsewhereInOtherProfiles) {
  files.shipped("y", "host: {nonsense: [\n");
  EXPECT_EQ(of(nd_h100()).profile, "nd96isr_h100_v5");
}

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

TEST(ChoiceTest, AnUnknownProfileSaysWhereTheKnownOnesAre) {
  const auto profile = load_profile({}, "nosuch");
  ASSERT_FALSE(profile);
  EXPECT_EQ(profile.error().message, "unknown profile 'nosuch'; muster profiles lists them");
}

TEST(DataFolderTest, IsInTheEnvironmentOrNextToTheProgram) {
  EXPECT_EQ(data_folder({{"MUSTER_DATA_DIR", "/opt/data"}}), "/opt/data");
  EXPECT_TRUE(data_folder({}).string().ends_with("/share/muster"));
}

}  // namespace
}  // namespace muster
