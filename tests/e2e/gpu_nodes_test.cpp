// SPDX-License-Identifier: Apache-2.0
// Healthy GPU nodes leave nothing unknown that could be known. A node without NVML is unhealthy
// only if GPUs are expected.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "tests/e2e/harness.hpp"
#include "tests/nodes/render.hpp"

namespace muster::e2e {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::IsEmpty;
using ::testing::StartsWith;
using Ids = std::set<std::string>;

// The checks without a finding on a healthy node of this name in its second run.
Ids silent_checks(std::string_view name) {
  Stage stage;
  const auto seen = examine_twice(stage, node_named(name));
  EXPECT_THAT(concerns(seen.report), IsEmpty()) << explain(seen.report);
  Ids ids;
  for (const auto& check : seen.report.checks) {
    if (check.outcome == Outcome::skip) ids.insert(check.id);
  }
  return ids;
}

// Facts that a hypervisor hides, that no file below a foreign root holds, or that only AMD GPUs
// have.
const Ids& hidden_from_guests() {
  static const Ids ids{"host.clock", "host.edac", "host.temperature", "pci.acs",
                       "pci.errors", "gpu.amd",   "gpu.ras",          "gpu.sxid",
                       "ib.ber",     "ib.mtu",    "ib.verbs",         "env.libraries"};
  return ids;
}

Ids with(Ids ids, const Ids& more) {
  ids.insert(more.begin(), more.end());
  return ids;
}

TEST(HealthyGpuNodeTest, H100OfBranch580) {
  EXPECT_EQ(silent_checks("nd96isr_h100_v5"),
            with(hidden_from_guests(), {"gpu.ecc_retired_pages"}));
}

TEST(HealthyGpuNodeTest, A100OfBranch535) {
  const Ids unlimited{"host.container_storage", "host.hugepages", "host.kernel"};
  EXPECT_EQ(silent_checks("nd96asr_v4"),
            with(with(hidden_from_guests(), unlimited),
                 {"gpu.ecc_retired_pages", "gpu.fabric", "gpu.recovery_action"}));
}

TEST(HealthyGpuNodeTest, V100OfBranch470) {
  const Ids unlimited{"host.container_storage", "host.hugepages", "host.kernel",  "host.nvme",
                      "host.programs",          "host.services",  "topo.pairing", "topo.virtual"};
  EXPECT_EQ(silent_checks("nd40rs_v2"),
            with(with(hidden_from_guests(), unlimited),
                 {"gpu.direct_rdma", "gpu.ecc_remapped_rows", "gpu.ecc_sram", "gpu.fabric",
                  "gpu.p2p", "gpu.recovery_action"}));
}

TEST(MissingNvmlTest, IsUnhealthyWhereGpusAreExpected) {
  const auto node = node_named("nd96isr_h100_v5");
  Stage stage;
  stage.show(render(node));
  const auto nowhere = stage.root() / "nowhere" / "libnvidia-ml.so.1";
  const auto seen = examine(stage.root(), {.profile = node.profile, .nvml = nowhere});
  EXPECT_THAT(concerns(seen.report), ElementsAre("fail gpu.driver node"));
  EXPECT_THAT(seen.report.findings.front().message, StartsWith("NVML is missing: "));
  EXPECT_EQ(seen.report.findings.front().remedy, Remedy::fix_config);
  EXPECT_EQ(seen.report.verdict, Verdict::unhealthy);
}

TEST(MissingNvmlTest, IsUnknownWhereItWasNamedAndIsNoLibrary) {
  if (!disk_has_room()) GTEST_SKIP() << "the disk with the simulated node is nearly full";
  const auto node = node_named("laptop");
  Stage stage;
  stage.show(render(node));
  const auto no_library = stage.root() / "proc" / "meminfo";
  const auto seen = examine(stage.root(), {.profile = node.profile, .nvml = no_library});
  EXPECT_EQ(seen.report.verdict, Verdict::unknown) << explain(seen.report);
  EXPECT_THAT(seen.report.coverage.not_observed, ElementsAre(Field(&NotObserved::what, "GPUs")));
}

TEST(MissingNvmlTest, IsUnknownWhereNobodyAsksTheGpusOnTheBus) {
  if (!disk_has_room()) GTEST_SKIP() << "the disk with the simulated node is nearly full";
  for (const auto* name : {"nd96isr_h100_v5", "bare_metal_h100"}) {
    const auto node = node_named(name);
    Stage stage;
    stage.show(render(node));
    const auto seen = examine(stage.root(), {.profile = node.profile});
    EXPECT_EQ(seen.report.verdict, Verdict::unknown) << explain(seen.report);
    EXPECT_THAT(seen.report.coverage.not_observed,
                ElementsAre(Field(&NotObserved::required, true)));
  }
}

TEST(MissingNvmlTest, IsNothingWhereNoneIsExpected) {
  if (!disk_has_room()) GTEST_SKIP() << "the disk with the simulated node is nearly full";
  const auto node = node_named("hb176rs_v4");
  Stage stage;
  stage.show(render(node));
  const auto nowhere = stage.root() / "nowhere" / "libnvidia-ml.so.1";
  const auto seen = examine(stage.root(), {.profile = node.profile, .nvml = nowhere});
  EXPECT_THAT(concerns(seen.report), IsEmpty()) << explain(seen.report);
  EXPECT_EQ(seen.report.verdict, Verdict::healthy);
  EXPECT_THAT(
      seen.report.coverage.not_observed,
      ElementsAre(AllOf(Field(&NotObserved::what, "GPUs"), Field(&NotObserved::required, false))));
  const auto driver = std::ranges::find(seen.report.findings, "gpu.driver", &Finding::check);
  ASSERT_NE(driver, seen.report.findings.end());
  EXPECT_EQ(driver->message, "no GPU expected by this profile, and NVML is not usable");
}

}  // namespace
}  // namespace muster::e2e
