// SPDX-License-Identifier: Apache-2.0
// Every simulated node has few series, and its metrics agree with its findings.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <variant>

#include "checks/run.hpp"
#include "lib/base/text.hpp"
#include "lib/report/format.hpp"
#include "tests/e2e/harness.hpp"
#include "tests/nodes/faults.hpp"
#include "tests/nodes/render.hpp"

namespace muster::e2e {
namespace {

// The most that docs/observability.md promises.
constexpr std::size_t kMostOwn = 250;
constexpr std::size_t kMostAll = 600;

using CheckAndDevice = std::pair<std::string, std::string>;

std::map<CheckAndDevice, double> headroom_of(const Report& report) {
  std::map<CheckAndDevice, double> headroom;
  for (const auto& [metric, labels, value] : report.readings) {
    if (metric == "headroom_ratio") headroom[{labels.at("check"), labels.at("device")}] = value;
  }
  return headroom;
}

bool is_concern(Outcome outcome) { return outcome == Outcome::warn || outcome == Outcome::fail; }

// Whether a limit has a ratio.
bool is_nonzero_number(const Value& value) {
  const auto* whole = std::get_if<std::int64_t>(&value);
  const auto* number = std::get_if<double>(&value);
  return (whole != nullptr && *whole != 0) || (number != nullptr && *number != 0);
}

Outcome outcome_of_check(const Report& report, const std::string& check) {
  return std::ranges::find(report.checks, check, &CheckResult::id)->outcome;
}

Report with_readings(const Examination& seen) {
  auto report = seen.report;
  report.readings = readings_of(seen.snapshot, seen.profile, report);
  return report;
}

std::size_t series_in(const std::string& metrics) {
  const auto lines = split_lines(metrics);
  return static_cast<std::size_t>(
      std::ranges::count_if(lines, [](std::string_view line) { return !line.starts_with('#'); }));
}

void expect_few_series(const Report& report) {
  EXPECT_LE(series_in(to_prometheus(report)), kMostOwn);
  EXPECT_LE(series_in(to_prometheus(report, {.all_values = true})), kMostAll);
}

}  // namespace

void expect_sound_metrics(const Examination& seen) {
  const auto report = with_readings(seen);
  expect_few_series(report);
  const auto headroom = headroom_of(report);
  for (const auto& [at, ratio] : headroom) {
    if (ratio >= 0) continue;
    EXPECT_NE(outcome_of_check(report, at.first), Outcome::pass)
        << at.first << " " << at.second << " has a headroom of " << ratio;
  }
  // Every number of these checks that has a limit is a margin.
  const auto numeric = split_words(
      "host.memory_available host.load host.disk host.container_storage gpu.ecc_corrected "
      "gpu.temperature gpu.pcie_replay gpu.nvlink_errors ib.errors ib.ber");
  for (const auto& finding : report.findings) {
    const bool is_numeric = std::ranges::count(numeric, finding.check) > 0;
    if (!is_concern(finding.outcome) || !is_numeric || !is_nonzero_number(finding.limit)) continue;
    const auto found = headroom.find({finding.check, finding.device});
    ASSERT_NE(found, headroom.end()) << finding.check << " " << finding.device;
    EXPECT_LE(found->second, 0) << finding.check << " " << finding.device;
  }
}

namespace {

// Lost devices have no series, and other faults need what a fault removed.
bool removes_parts(const nodes::NodeDescription& before, const nodes::NodeDescription& after) {
  const auto parts = [](const nodes::NodeDescription& node) {
    return node.gpus.size() + node.amd_gpus.size() + node.hcas.size() + node.nvme.size() +
           node.cpus.size() + node.mounts.size();
  };
  return parts(after) < parts(before);
}

class SickestNode : public ::testing::TestWithParam<std::string_view> {};

TEST_P(SickestNode, HasFewSeries) {
  Stage stage;
  std::size_t faults = 0;
  const auto seen = examine_twice(stage, node_named(GetParam()), [&](auto& node) {
    for (const auto& fault : nodes::all_faults()) {
      if (fault.node != GetParam() || !changes_node(fault)) continue;
      auto with_fault = node;
      change_node(fault, with_fault);
      if (fault.outcome == Outcome::unknown || removes_parts(node, with_fault)) continue;
      node = std::move(with_fault);
      ++faults;
    }
  });
  EXPECT_GT(concerns(seen.report).size(), faults / 4) << explain(seen.report);
  expect_few_series(with_readings(seen));
}

INSTANTIATE_TEST_SUITE_P(Written, SickestNode,
                         ::testing::Values(nodes::kH100, nodes::kA100, nodes::kBareMetal,
                                           nodes::kMi300x, nodes::kV100),
                         [](const auto& one) { return std::string(one.param); });

TEST(MetricsTest, AHealthyNodeShowsHowFarItIsFromItsLimits) {
  Stage stage;
  const auto seen = examine_twice(stage, node_named(nodes::kH100));
  const auto headroom = headroom_of(with_readings(seen));
  std::set<std::string> checks;
  for (const auto& [at, ratio] : headroom) {
    checks.insert(at.first);
    EXPECT_GE(ratio, 0) << at.first << " " << at.second;
  }
  EXPECT_THAT(checks,
              ::testing::IsSupersetOf({"host.memory_available", "host.load", "gpu.temperature",
                                       "gpu.nvlink_errors", "gpu.pcie_replay", "ib.errors"}));
}

}  // namespace
}  // namespace muster::e2e
