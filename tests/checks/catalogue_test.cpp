// SPDX-License-Identifier: Apache-2.0
// Keeps the catalogue honest: a check left out of the table, the tests or the defaults is named.
#include "checks/catalogue.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
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

// The first group of each match in the sources below `folder`.
std::multiset<std::string> matches_in(const char* folder, const std::regex& pattern) {
  std::multiset<std::string> found;
  for (const auto* group : {"host", "pci", "gpu", "ib", "topo", "env", "muster"}) {
    for (const auto& entry : fs::directory_iterator(kSource / folder / group)) {
      if (entry.path().extension() != ".cpp") continue;
      std::ifstream file(entry.path());
      const std::string text(std::istreambuf_iterator<char>(file), {});
      for (std::sregex_iterator at(text.begin(), text.end(), pattern), end; at != end; ++at) {
        found.insert((*at)[1]);
      }
    }
  }
  return found;
}

TEST(CatalogueTest, ListsEveryDefinedCheckOnce) {
  EXPECT_EQ(catalogue_ids(), matches_in("checks", std::regex("\\n    \\.id = \"([^\"]+)\"")));
}

TEST(CatalogueTest, EveryCheckIsTested) {
  const auto tested = matches_in("tests/checks", std::regex("checks::(\\w+)::check"));
  for (auto id : catalogue_ids()) {
    std::ranges::replace(id, '.', '_');
    EXPECT_TRUE(tested.contains(id)) << id;
  }
}

TEST(CatalogueTest, EveryCheckHasTitleReasonAndFix) {
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
