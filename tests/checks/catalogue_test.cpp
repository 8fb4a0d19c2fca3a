// SPDX-License-Identifier: Apache-2.0
// The catalogue, the names of checks in profiles, and the simulated nodes of the quickstart.

#include <filesystem>
#include <iterator>
#include <regex>
#include <set>

#include "checks/run.hpp"
#include "lib/profile/load.hpp"
#include "tests/checks/ask.hpp"
#include "tests/support/saved_node.hpp"

namespace muster::catalogue_test {
namespace {

using ::testing::Field;

// Keeps the catalogue honest: a check left out of the table, the tests or the defaults is named.
namespace catalogue {

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
      const auto text = content_of(entry.path());
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
    const bool explicit_outcome = profile->values.contains(fmt::format("{}.fail_as", id)) ||
                                  profile->values.contains(fmt::format("{}.warn_as", id));
    EXPECT_TRUE(explicit_outcome) << id << " has neither fail_as nor warn_as in defaults.yaml";
  }
}

TEST(CatalogueTest, AProfileWithoutLimitsSkipsTheChecksThatOnlyCompare) {
  constexpr std::string_view kCompare =
      "host.memory_available host.swap host.hugepages host.kernel_log host.kernel host.sysctl "
      "host.limits host.clock host.load host.stuck_tasks host.disk host.services host.modules "
      "host.ethernet host.programs host.container_storage";
  for (const auto id : split_words(kCompare)) {
    const auto* const check = std::ranges::find(checks::kAll, id, &Check::id);
    ASSERT_NE(check, checks::kAll.end()) << id;
    EXPECT_THAT(ask(**check, Snapshot{}, Profile{}), ::testing::ElementsAre(skips())) << id;
  }
}

TEST(CatalogueTest, NoCheckFailsOnASnapshotInWhichNothingWasObserved) {
  for (const Check* check : checks::kAll) {
    const auto findings = ask(*check, Snapshot{}, Profile{});
    EXPECT_FALSE(findings.empty()) << check->id;
    for (const auto& finding : findings) EXPECT_NE(finding.outcome, Outcome::fail) << check->id;
  }
}

}  // namespace catalogue

namespace names {

// The error about a profile whose prolog is `context`; empty if there is none.
std::string trouble_with(const Context& context, const Words& fatal_probes = {}) {
  Profile profile;
  profile.contexts["prolog"] = context;
  profile.muster->probes.fatal = fatal_probes;
  for (const auto* key : {"run", "skip", "count_unknown"}) {
    profile.values[std::string("contexts.prolog.") + key].origin = {.file = "site.yaml", .line = 7};
  }
  const auto checked = check_names(profile);
  return checked ? std::string() : checked.error().message;
}

TEST(NamesTest, GlobsOfChecksMustBeWithinAGroup) {
  EXPECT_EQ(trouble_with({.run = {"*", "ib.*", "host.mounts", "*.present", "ib.st?te"}}), "");
  EXPECT_EQ(trouble_with({.skip = {"gpu.*", "gpu.ecc_*"}}), "");
  EXPECT_EQ(trouble_with({.run = {"hst.*"}}),
            "site.yaml:7: 'contexts.prolog.run' names unknown check \"hst.*\"");
}

TEST(NamesTest, AMisspelledCheckIsNamedWithItsPlaceAndTheNearest) {
  EXPECT_EQ(trouble_with({.run = {"ib.stat", "host.mounts"}}),
            "site.yaml:7: 'contexts.prolog.run' names unknown check \"ib.stat\"; did you mean "
            "'ib.state'?");
  EXPECT_EQ(trouble_with({.skip = {"host.mount"}}),
            "site.yaml:7: 'contexts.prolog.skip' names unknown check \"host.mount\"; did you mean "
            "'host.mounts'?");
  EXPECT_EQ(trouble_with({.count_unknown = {"pci.device"}}),
            "site.yaml:7: 'contexts.prolog.count_unknown' names unknown check \"pci.device\"; did "
            "you mean 'pci.devices'?");
}

TEST(NamesTest, AMisspelledProbeIsNamedWithTheNearest) {
  EXPECT_EQ(trouble_with({}, {"nvml", "mounts", "kernel_log"}), "");
  EXPECT_EQ(trouble_with({}, {"mount"}),
            "generic: 'muster.probes.fatal' names unknown probe \"mount\"; did you mean 'mounts'?");
}

}  // namespace names

// The saved nodes, simulated and recorded, still mean what they meant.
namespace saved_nodes {

Report report_on(std::string_view name, const std::string& profile_name = "nd96isr_h100_v5") {
  const auto profile =
      load_profile({.shipped = catalogue::kSource / "configs/profiles"}, profile_name);
  EXPECT_TRUE(profile) << profile.error().message;
  return profile ? judge(saved_node(name), *profile, {}) : Report{};
}

// Findings that are neither passes nor skips: outcome, check, device.
std::vector<std::string> faults(const Report& report) {
  std::vector<std::string> found;
  for (const auto& finding : report.findings) {
    if (finding.outcome == Outcome::pass || finding.outcome == Outcome::skip) continue;
    found.push_back(
        fmt::format("{} {} {}", to_string(finding.outcome), finding.check, finding.device));
  }
  return found;
}

TEST(SimulatedNodesTest, TheHealthyOneHasNoFaultAndIsUnknownWithoutItsGpus) {
  const Report report = report_on("simulated/nd96isr_h100_v5");
  EXPECT_EQ(report.verdict, Verdict::unknown);
  EXPECT_THAT(faults(report), IsEmpty());
  EXPECT_THAT(report.coverage.not_observed, ElementsAre(Field(&NotObserved::what, "GPUs")));
}

TEST(SimulatedNodesTest, TheSickOneHasItsFourFaultsAndNoOther) {
  const Report report = report_on("simulated/nd96isr_h100_v5_sick");
  EXPECT_EQ(report.verdict, Verdict::unhealthy);
  EXPECT_THAT(
      faults(report),
      ElementsAre("fail host.kernel_log sda1", "fail host.services nvidia-fabricmanager.service",
                  "fail pci.devices 0003:00:00.0", "fail ib.rate mlx5_ib5"));
}

// Two machines that were healthy except for an unsynchronised clock. Recorded on real GPUs; names,
// serials, UUIDs and other identifiers were replaced.
TEST(RecordedNodesTest, AreHealthyButForTheirClock) {
  for (const auto* name : {"recorded/h100_sxm_vm", "recorded/h200_sxm_vm"}) {
    const Report report = report_on(name, "generic");
    EXPECT_EQ(report.verdict, Verdict::healthy) << name;
    EXPECT_THAT(faults(report), ElementsAre("warn host.clock clock")) << name;
    EXPECT_THAT(report.coverage.not_observed, IsEmpty()) << name;
  }
}

// The GPU of an ND H100 v5 as its profile expects it, on a machine that is otherwise different.
TEST(RecordedNodesTest, TheH100HasTheFirmwareModesAndLimitsOfItsProfile) {
  const Report report = report_on("recorded/h100_sxm_vm", "nd96isr_h100_v5");
  std::size_t passes = 0;
  for (const auto& finding : report.findings) {
    if (!finding.check.starts_with("gpu.") || finding.check == "gpu.nvlink_state") continue;
    EXPECT_TRUE(finding.outcome == Outcome::pass || finding.outcome == Outcome::skip)
        << finding.check << ": " << finding.message;
    if (finding.outcome == Outcome::pass) ++passes;
  }
  EXPECT_GT(passes, 10U);
}

}  // namespace saved_nodes

}  // namespace
}  // namespace muster::catalogue_test
