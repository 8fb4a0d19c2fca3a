// SPDX-License-Identifier: Apache-2.0
// The profile that is chosen for a node, healthy or with parts missing, and the evidence.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <type_traits>

#include "lib/profile/choice.hpp"
#include "tests/lib/profile/profile_files.hpp"

namespace muster {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;

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
  EXPECT_THAT(of(nd_h100()).profile, ::testing::HasSubstr("ours.yaml:3: invalid YAML"));
}

TEST_F(RecogniseTest, ReportsAnErrorInARecogniseBlock) {
  files.shipped("y", "recognise:\n  gpu: 8\n");
  EXPECT_EQ(of(nd_h100()).profile,
            "profiles/y.yaml:3: unknown key 'recognise.gpu'; did you mean 'gpus'?");
}

TEST_F(RecogniseTest, IgnoresErrorsElsewhereInOtherProfiles) {
  files.shipped("y", "host: {nonsense: [\n");
  EXPECT_EQ(of(nd_h100()).profile, "nd96isr_h100_v5");
}

}  // namespace
}  // namespace muster
