// SPDX-License-Identifier: Apache-2.0
// Keeps the catalogue honest: a check left out of the table, the tests or the defaults is named.
#include "checks/catalogue.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <set>
#include <string>

#include "lib/profile/load.hpp"
#include "tests/checks/ask.hpp"

namespace muster::catalogue_test {
namespace {

namespace fs = std::filesystem;

const fs::path kSource = MUSTER_SOURCE_DIR;

std::multiset<std::string> catalogue_ids() {
  std::multiset<std::string> ids;
  for (const Check* check : checks::kAll) ids.insert(std::string(check->id));
  return ids;
}

TEST(CatalogueTest, ListsEveryCheckFileExactlyOnce) {
  std::multiset<std::string> files;
  for (const auto* group : {"host", "pci", "gpu", "ib", "topo", "env", "muster"}) {
    if (!fs::exists(kSource / "checks" / group)) continue;
    for (const auto& entry : fs::directory_iterator(kSource / "checks" / group)) {
      if (entry.path().extension() != ".cpp") continue;
      files.insert(fmt::format("{}.{}", group, entry.path().stem().string()));
    }
  }
  EXPECT_EQ(catalogue_ids(), files);
}

TEST(CatalogueTest, EveryCheckHasATestOfItsOwn) {
  for (const auto& id : catalogue_ids()) {
    const auto dot = id.find('.');
    const auto test = kSource / "tests/checks" / id.substr(0, dot) /
                      fmt::format("{}_test.cpp", id.substr(dot + 1));
    EXPECT_TRUE(fs::exists(test)) << test;
  }
}

TEST(CatalogueTest, EveryCheckSaysWhatItIsForAndHowToMendIt) {
  for (const Check* check : checks::kAll) {
    EXPECT_FALSE(check->title.empty()) << check->id;
    EXPECT_GT(check->why.size(), 60U) << check->id;
    EXPECT_GT(check->fix.size(), 20U) << check->id;
    EXPECT_NE(check->judge == nullptr, check->judge_in == nullptr) << check->id;
  }
}

TEST(CatalogueTest, EveryCheckHasItsDefaultOutcomesInTheDefaults) {
  const auto profile = load_profile({.shipped = kSource / "configs/profiles"}, "generic");
  ASSERT_TRUE(profile) << profile.error().message;
  std::multiset<std::string> declared;
  for (const auto& [id, policy] : profile->policies) declared.insert(id);
  EXPECT_EQ(catalogue_ids(), declared);
  for (const auto& id : catalogue_ids()) {
    const bool explicit_outcome = profile->origins.contains(fmt::format("{}.fail_as", id)) ||
                                  profile->origins.contains(fmt::format("{}.warn_as", id));
    EXPECT_TRUE(explicit_outcome) << id << " has neither fail_as nor warn_as in defaults.yaml";
  }
}

TEST(CatalogueTest, NoCheckFailsOnASnapshotInWhichNothingWasObserved) {
  for (const Check* check : checks::kAll) {
    const auto findings = ask(*check, Snapshot{}, Profile{});
    EXPECT_FALSE(findings.empty()) << check->id;
    for (const auto& finding : findings) EXPECT_NE(finding.outcome, Outcome::fail) << check->id;
  }
}

}  // namespace
}  // namespace muster::catalogue_test
