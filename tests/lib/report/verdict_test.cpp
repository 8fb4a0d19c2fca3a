// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include "lib/report/bench_checks.hpp"
#include "lib/report/format.hpp"
#include "lib/report/summary.hpp"

namespace muster {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

Finding of(std::string check, Outcome outcome) {
  return {.check = std::move(check), .device = "node", .outcome = outcome, .message = "m"};
}

TEST(OutcomeTest, IsRankedBySeverity) {
  std::vector<std::string_view> words;
  std::array outcomes{Outcome::pass, Outcome::warn, Outcome::fail, Outcome::unknown, Outcome::skip};
  words.reserve(outcomes.size());
  std::ranges::sort(outcomes, {}, rank);
  for (const auto outcome : outcomes) words.push_back(to_string(outcome));
  EXPECT_THAT(words, ElementsAre("fail", "unknown", "warn", "pass", "skip"));
}

TEST(VerdictTest, DecidesTheExitStatus) {
  EXPECT_EQ(exit_status(Verdict::healthy), 0);
  EXPECT_EQ(exit_status(Verdict::unhealthy), 1);
  EXPECT_EQ(exit_status(Verdict::unknown), 2);
}

TEST(FindingTest, IsNotAPlainPassWithARemedy) {
  EXPECT_TRUE(is_plain_pass({.outcome = Outcome::pass, .observed = std::int64_t{8}}));
  EXPECT_FALSE(is_plain_pass({.outcome = Outcome::pass, .remedy = Remedy::restart_app}));
  EXPECT_FALSE(is_plain_pass({.outcome = Outcome::warn}));
}

TEST(VerdictTest, IsUnhealthyAfterAnyFail) {
  Report report{.findings = {of("a.a", Outcome::pass), of("b.b", Outcome::unknown),
                             of("a.a", Outcome::fail)}};
  conclude(report, {"a.a", "b.b", "c.c"});
  EXPECT_EQ(report.verdict, Verdict::unhealthy);
  EXPECT_THAT(report.findings, ElementsAre(of("a.a", Outcome::fail), of("b.b", Outcome::unknown),
                                           of("a.a", Outcome::pass)));
  EXPECT_THAT(report.checks,
              ElementsAre(CheckResult{"a.a", Outcome::fail}, CheckResult{"b.b", Outcome::unknown},
                          CheckResult{"c.c", Outcome::skip}));
}

TEST(VerdictTest, IsUnknownForUnknownsThatCount) {
  Report report{.findings = {of("a.a", Outcome::warn), of("b.b", Outcome::unknown),
                             of("b.b", Outcome::unknown)}};
  conclude(report, {"a.a", "b.b"});
  EXPECT_EQ(report.verdict, Verdict::unknown);
  EXPECT_THAT(report.undecided, ElementsAre("b.b"));
  conclude(report, {"a.a", "b.b"}, {"a.*"});
  EXPECT_EQ(report.verdict, Verdict::healthy);
  EXPECT_THAT(report.undecided, IsEmpty());
}

TEST(VerdictTest, IsUnknownWithoutRequiredFacts) {
  Report report{.findings = {of("a.a", Outcome::pass), of("b.b", Outcome::skip)}};
  report.coverage.not_observed = {{"GPUs", "no NVML", false}};
  conclude(report, {"a.a", "b.b"});
  EXPECT_EQ(report.verdict, Verdict::healthy);
  EXPECT_EQ(report.coverage.judged, 1);
  EXPECT_EQ(report.coverage.selected, 2);
  report.coverage.not_observed[0].required = true;
  conclude(report, {"a.a", "b.b"});
  EXPECT_EQ(report.verdict, Verdict::unknown);
  report.findings.push_back(of("b.b", Outcome::fail));
  conclude(report, {"a.a", "b.b"});
  EXPECT_EQ(report.verdict, Verdict::unhealthy);
}

TEST(FormatTest, HasAWordPerRow) {
  std::string words;
  for (const auto& row : kFormatTable) words += fmt::format("|{}", row.name);
  EXPECT_EQ(words.substr(1), kFormats);
}

TEST(BenchChecksTest, IncludeBandwidthChecks) {
  for (const auto id : kBandwidthChecks) EXPECT_NE(find_bench_check(id), nullptr) << id;
  EXPECT_EQ(find_bench_check("bench.gem"), nullptr);
}

TEST(VerdictTest, IsNotHealthyIfNothingWasJudged) {
  Report report{.findings = {of("a.a", Outcome::skip)}};
  conclude(report, {"a.a"});
  EXPECT_EQ(report.verdict, Verdict::unknown);
}

}  // namespace
}  // namespace muster
