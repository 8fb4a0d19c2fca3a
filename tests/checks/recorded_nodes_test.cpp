// SPDX-License-Identifier: Apache-2.0
// The recorded nodes that the quickstart and the micro-benchmarks judge still mean what they meant.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "checks/run.hpp"
#include "lib/profile/load.hpp"
#include "tests/support/printers.hpp"

namespace muster::recorded_nodes_test {
namespace {

using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::IsEmpty;

Report report_on(std::string_view name) {
  const std::string source = MUSTER_SOURCE_DIR;
  std::ostringstream text;
  text << std::ifstream(fmt::format("{}/tests/nodes/simulated/{}.json", source, name)).rdbuf();
  const auto snapshot = parse_snapshot(text.str());
  EXPECT_TRUE(snapshot) << snapshot.error().message;
  const auto profile =
      load_profile({.shipped = fmt::format("{}/configs/profiles", source)}, "nd96isr_h100_v5");
  EXPECT_TRUE(profile) << profile.error().message;
  return snapshot && profile ? judge(*snapshot, *profile, {}) : Report{};
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

TEST(RecordedNodesTest, TheHealthyOneHasNoFaultAndIsUnknownForWantOfItsGpus) {
  const Report report = report_on("nd96isr_h100_v5");
  EXPECT_EQ(report.verdict, Verdict::unknown);
  EXPECT_THAT(faults(report), IsEmpty());
  EXPECT_THAT(report.coverage.not_observed, ElementsAre(Field(&NotObserved::what, "GPUs")));
}

TEST(RecordedNodesTest, TheSickOneHasItsFourFaultsAndNoOther) {
  const Report report = report_on("nd96isr_h100_v5_sick");
  EXPECT_EQ(report.verdict, Verdict::unhealthy);
  EXPECT_THAT(
      faults(report),
      ElementsAre("fail host.kernel_log sda1", "fail host.services nvidia-fabricmanager.service",
                  "fail pci.devices 0003:00:00.0", "fail ib.rate mlx5_ib5"));
}

}  // namespace
}  // namespace muster::recorded_nodes_test
