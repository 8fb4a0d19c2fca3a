// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <random>

#include "bench/node/test_report.hpp"
#include "tests/support/matchers.hpp"

namespace muster::bench::node {
namespace {

constexpr Bounds kLimits{.expected = 55e9, .warn_below = 52e9, .fail_below = 48e9};

Series copies(std::vector<double> rates) {
  Series series{
      .what = "host to device", .quantity = "host_to_device", .unit = "GB/s", .limited = true};
  for (std::size_t i = 0; i < rates.size(); ++i) {
    series.values.push_back({.device = fmt::format("gpu{}", i), .value = rates[i]});
  }
  return series;
}

std::vector<Finding> judged(const Series& series, const Bounds& bounds = {}) {
  return judge("bench.host_copy", series, bounds, "profile x");
}

Finding only(const std::vector<Finding>& findings) {
  EXPECT_EQ(findings.size(), 1U);
  return findings.front();
}

TEST(NodeJudgeTest, EqualDevicesHaveOneFinding) {
  EXPECT_EQ(only(judged(copies({54.9, 55.1, 55.0, 54.8}), kLimits)),
            (Finding{.check = "bench.host_copy",
                     .device = "node",
                     .outcome = Outcome::pass,
                     .message = "host to device 54.8 to 55.1 GB/s for 4; fails below 48.0 GB/s, "
                                "warns below 52.0 GB/s, expected 55.0 GB/s (profile x)",
                     .observed = 54.8,
                     .limit = 48.0,
                     .unit = "GB/s"}));
}

TEST(NodeJudgeTest, NamesASlowLinkWithTheMedianAndTheLimit) {
  EXPECT_EQ(only(judged(copies({55, 55, 55, 27.5, 55, 55, 55, 55}), kLimits)),
            (Finding{.check = "bench.host_copy",
                     .device = "gpu3",
                     .outcome = Outcome::fail,
                     .message = "host to device 27.5 GB/s; the median of 8 is 55.0 (-50.0%, 100 "
                                "deviations); fails below 48.0 GB/s, warns below 52.0 GB/s, "
                                "expected 55.0 GB/s (profile x)",
                     .observed = 27.5,
                     .limit = 48.0,
                     .unit = "GB/s",
                     .remedy = Remedy::report_to_provider}));
}

TEST(NodeJudgeTest, WarnsOfAnOutlier) {
  const auto finding = only(judged(copies({55, 55, 55, 50, 55, 55})));
  EXPECT_EQ(finding.device, "gpu3");
  EXPECT_EQ(finding.outcome, Outcome::warn);
  EXPECT_EQ(finding.remedy, Remedy::watch);
}

TEST(NodeJudgeTest, FailsEachDeviceBelowTheLimit) {
  const auto findings = judged(copies({20, 20, 20, 20}), kLimits);
  ASSERT_EQ(findings.size(), 4U);
  for (const auto& finding : findings) EXPECT_EQ(finding.outcome, Outcome::fail);
}

TEST(NodeJudgeTest, WarnsBetweenTheLimits) {
  EXPECT_EQ(only(judged(copies({50}), kLimits)).outcome, Outcome::warn);
}

TEST(NodeJudgeTest, ASmallLimitKeepsItsDigits) {
  EXPECT_THAT(only(judged(copies({55}), {.fail_below = 1e6})).message,
              HasSubstr("; fails below 0.001 GB/s ("));
}

TEST(NodeJudgeTest, SkipsThreeDevicesWithoutALimit) {
  const auto finding = only(judged(copies({55, 55, 20})));
  EXPECT_EQ(finding.outcome, Outcome::skip);
  EXPECT_THAT(finding.message, HasSubstr("20.0 to 55.0 GB/s for 3; not judged"));
  EXPECT_EQ(only(judged(copies({55, 55, 55, 55}))).outcome, Outcome::pass);
}

TEST(NodeJudgeTest, ComparesASeriesWithoutItsLimit) {
  auto series = copies({20, 20, 20, 20});
  series.limited = false;
  EXPECT_EQ(only(judged(series, kLimits)).outcome, Outcome::pass);
}

TEST(NodeJudgeTest, ComparesDevicesOfOneGroup) {
  auto series = copies({250, 250, 250, 250, 20, 20, 20, 20});
  for (std::size_t i = 4; i < 8; ++i) series.values[i].group = "through the host";
  EXPECT_EQ(only(judged(series)).outcome, Outcome::pass);
  series.values[6].value = 10;
  EXPECT_EQ(only(judged(series)).device, "gpu6");
}

TEST(NodeJudgeTest, ALargeLatencyIsAnOutlier) {
  auto series = copies({90, 91, 90, 140, 90});
  series.less_is_better = true;
  const auto finding = only(judged(series));
  EXPECT_EQ(finding.device, "gpu3");
  EXPECT_EQ(finding.outcome, Outcome::warn);
}

TEST(NodeJudgeTest, ScatterOfRepeatsWidensTheTolerance) {
  auto series = copies({55, 55, 55, 50, 55, 55});
  for (auto& each : series.values) each.noise = 0.01;
  EXPECT_EQ(only(judged(series)).outcome, Outcome::warn);
  for (auto& each : series.values) each.noise = 0.02;  // 5 times that is more than 9.1%
  EXPECT_EQ(only(judged(series)).outcome, Outcome::pass);
}

TEST(NodeJudgeTest, ObservesTheWorstValue) {
  auto series = copies({54, 55, 56});
  EXPECT_EQ(only(judged(series, kLimits)).observed, Value(54.0));
  series.limited = false;
  series.less_is_better = true;
  EXPECT_EQ(only(judged(series, kLimits)).observed, Value(56.0));
}

// Each value is the median of five repeats with 2% noise.
class NoisyNode {
 public:
  [[nodiscard]] Series measure(double slow = 1) {
    auto series = copies({});
    for (int gpu = 0; gpu < 8; ++gpu) {
      std::vector<double> repeats;
      const double rate = gpu == 5 ? 55 * slow : 55;
      for (int i = 0; i < 5; ++i) repeats.push_back(rate * noise_(engine_));
      series.values.push_back(value_of(fmt::format("gpu{}", gpu), repeats));
    }
    return series;
  }

 private:
  std::mt19937 engine_{7};
  std::normal_distribution<double> noise_{1, 0.02};
};

TEST(NodeJudgeTest, PassesHealthyNodesWithNoise) {
  NoisyNode node;
  int passed = 0;
  for (int run = 0; run < 1000; ++run) {
    const auto findings = judged(node.measure(), kLimits);
    passed += static_cast<int>(findings.size() == 1 && findings[0].outcome == Outcome::pass);
  }
  EXPECT_EQ(passed, 1000);
}

TEST(NodeJudgeTest, FindsALinkAtThreeQuartersDespiteNoise) {
  NoisyNode node;
  for (int run = 0; run < 1000; ++run) {
    const auto finding = only(judged(node.measure(0.75), kLimits));
    EXPECT_EQ(finding.device, "gpu5");
    EXPECT_EQ(finding.outcome, Outcome::fail);
  }
}

}  // namespace
}  // namespace muster::bench::node
