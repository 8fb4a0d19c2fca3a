// SPDX-License-Identifier: Apache-2.0
// Each shipped profile loads, has a source for each limit, and recognises its own node.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "lib/profile/choice.hpp"
#include "lib/profile/limits/gpu.hpp"
#include "lib/profile/limits/host.hpp"
#include "lib/profile/limits/ib.hpp"
#include "lib/profile/load.hpp"
#include "lib/profile/profile.hpp"

namespace muster {
namespace {

using ::testing::IsEmpty;
using ::testing::IsSupersetOf;

ProfileSources all_shipped() { return {}; }

std::vector<std::string> names() {
  return profile_names(all_shipped()).value_or(std::vector<std::string>());
}

// Loads each profile once for several tests.
const Result<Profile>& loaded(const std::string& name) {
  static std::map<std::string, Result<Profile>> all;
  const auto known = all.find(name);
  if (known != all.end()) return known->second;
  return all.emplace(name, load_profile(all_shipped(), name)).first->second;
}

class ShippedProfileTest : public ::testing::TestWithParam<std::string> {};

INSTANTIATE_TEST_SUITE_P(All, ShippedProfileTest, ::testing::ValuesIn(names()),
                         [](const auto& each) {
                           std::string name = each.param;
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

TEST_P(ShippedProfileTest, LoadsWithoutAWarning) {
  const auto& profile = loaded(GetParam());
  ASSERT_TRUE(profile.has_value()) << profile.error().message;
  EXPECT_THAT(review(*profile), IsEmpty());
}

TEST_P(ShippedProfileTest, EveryLimitHasASourceAndADate) {
  const auto& profile = loaded(GetParam());
  ASSERT_TRUE(profile.has_value()) << profile.error().message;
  std::vector<std::string> without;
  for (const auto& [path, origin] : profile->origins) {
    const bool is_limit = !path.starts_with("recognise.") && !path.starts_with("contexts.") &&
                          path.find('.') != std::string::npos;
    if (is_limit && (origin.source.empty() || origin.as_of.empty())) without.push_back(path);
  }
  EXPECT_THAT(without, IsEmpty());
}

TEST_P(ShippedProfileTest, MustObserveMatchesTheExpectedDevices) {
  const auto& profile = loaded(GetParam());
  ASSERT_TRUE(profile.has_value()) << profile.error().message;
  const auto asks_for = [&](std::string_view group) {
    return std::ranges::count(profile->must_observe, group) > 0;
  };
  const auto& gpus = profile->gpu->present;
  const bool of_nvml = gpus.vendor.value_or(GpuVendor::nvidia) == GpuVendor::nvidia;
  const auto& hcas = profile->ib->present;
  // A base for others may leave the counts to them.
  EXPECT_TRUE(!gpus.count || asks_for("gpu") == (*gpus.count > 0 && of_nvml));
  EXPECT_TRUE(!gpus.count || (asks_for("host") && asks_for("pci")));
  EXPECT_TRUE(!hcas.count || asks_for("ib") == (*hcas.count > 0));
}

// The hardware of a node as the profile expects it.
Hardware healthy_node(const Profile& p) {
  Hardware node{.chassis_asset_tag = p.recognise.chassis_asset_tag.value_or(""),
                .dmi_vendor = p.recognise.dmi_vendor.value_or(""),
                .gpu_pci_ids = GpuIds{},
                .infiniband_hcas =
                    p.recognise.infiniband.value_or(false) ? p.ib->present.count.value_or(1) : 0,
                .nvme_disks = p.host->nvme.count,
                .cores = p.host->cpu.cores.value_or(0),
                .memory_bytes = p.host->memory.total.value_or(Bytes{}).value};
  if (!p.recognise.gpu_pci_ids.empty()) {
    node.gpu_pci_ids = GpuIds{{p.recognise.gpu_pci_ids.front(), p.gpu->present.count.value_or(0)}};
  }
  return node;
}

TEST_P(ShippedProfileTest, RecognisesItsOwnNode) {
  const auto& profile = loaded(GetParam());
  ASSERT_TRUE(profile.has_value()) << profile.error().message;
  if (!profile->recognise.chassis_asset_tag) return;  // a base for others, or chosen by name
  static const auto candidates = read_candidates(all_shipped());
  ASSERT_TRUE(candidates.has_value()) << candidates.error().message;
  const Recognised found = choose(*candidates, healthy_node(*profile));
  const bool itself = found.profile == profile->name;
  // Profiles that recognition cannot distinguish are reported.
  const bool said =
      found.profile == "generic" && found.evidence.back().find(profile->name) != std::string::npos;
  EXPECT_TRUE(itself || said) << found.profile << ": " << found.evidence.back();
}

TEST(ShippedProfilesTest, DistinguishHBv2AndHBv3ByTheirDisks) {
  const auto candidates = read_candidates(all_shipped());
  ASSERT_TRUE(candidates.has_value()) << candidates.error().message;
  for (const std::string name : {"hb120rs_v2", "hb120rs_v3"}) {
    const auto& profile = loaded(name);
    ASSERT_TRUE(profile.has_value()) << profile.error().message;
    EXPECT_EQ(choose(*candidates, healthy_node(*profile)).profile, name);
  }
}

TEST(ShippedProfilesTest, CoverEverySize) {
  EXPECT_THAT(names(), IsSupersetOf({"generic",           "nd40rs_v2",
                                     "nd96asr_v4",        "nd96amsr_a100_v4",
                                     "nd96is_h100_v5",    "nd96isr_h100_v5",
                                     "nd96is_h200_v5",    "nd96isr_h200_v5",
                                     "nd96isrf_h200_v5",  "nd128isr_ndr_gb200_v6",
                                     "nd128isr_gb300_v6", "hgx_b200",
                                     "nd96isr_mi300x_v5", "nd96asr_mi200_v4",
                                     "nc24ads_a100_v4",   "nc48ads_a100_v4",
                                     "nc96ads_a100_v4",   "nc40ads_h100_v5",
                                     "nc80adis_h100_v5",  "nc6s_v3",
                                     "nc12s_v3",          "nc24s_v3",
                                     "nc24rs_v3",         "hb120rs_v2",
                                     "hb120rs_v3",        "hb120-96rs_v3",
                                     "hb120-64rs_v3",     "hb120-32rs_v3",
                                     "hb120-16rs_v3",     "hb176rs_v4",
                                     "hb176-144rs_v4",    "hb176-96rs_v4",
                                     "hb176-48rs_v4",     "hb176-24rs_v4",
                                     "hx176rs",           "hx176-144rs",
                                     "hx176-96rs",        "hx176-48rs",
                                     "hx176-24rs",        "hc44rs",
                                     "hc44-32rs",         "hc44-16rs"}));
}

}  // namespace
}  // namespace muster
