// SPDX-License-Identifier: Apache-2.0
// The formats of one line, for node-problem-detector and NHC.
#include "lib/report/summary.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/text.hpp"
#include "lib/report/bench_checks.hpp"
#include "lib/report/format.hpp"
#include "tests/lib/report/sample_report.hpp"
#include "tests/support/matchers.hpp"

namespace muster {
namespace {

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

TEST(VerdictTest, IsUnknownIfNothingWasJudgedOrWithoutRequiredFacts) {
  Report report{.findings = {of("b.b", Outcome::skip)}};
  conclude(report, {"b.b"});
  EXPECT_EQ(report.verdict, Verdict::unknown);
  report.findings.push_back(of("a.a", Outcome::pass));
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
  EXPECT_EQ(words.substr(1), kCheckFormats);
  EXPECT_EQ(kCheckFormats, fmt::format("{}|npd_undecided", kFormats));
}

TEST(FormatTest, TheConditionUndecidedHoldsUnlessThereIsAVerdict) {
  EXPECT_EQ(status_in(Format::npd_undecided, kExitHealthy), 0);
  EXPECT_EQ(status_in(Format::npd_undecided, kExitUnhealthy), 0);
  for (const int status : {kExitUndecided, kExitUsage, kExitConfiguration, 139}) {
    EXPECT_EQ(status_in(Format::npd_undecided, status), 1);
    EXPECT_EQ(status_in(Format::npd, status), status);
  }
}

TEST(BenchChecksTest, IncludeBandwidthChecks) {
  for (const auto id : kBandwidthChecks) EXPECT_NE(find_bench_check(id), nullptr) << id;
  EXPECT_EQ(find_bench_check("bench.gem"), nullptr);
}

struct Case {
  std::string_view text;
  std::string_view safe;
};

class HarmlessTest : public ::testing::TestWithParam<Case> {};

TEST_P(HarmlessTest, ReplacesSpecialCharacters) {
  EXPECT_EQ(harmless(GetParam().text, 200), GetParam().safe);
}

INSTANTIATE_TEST_SUITE_P(
    Texts, HarmlessTest,
    ::testing::Values(Case{"", ""}, Case{"12 of 18 links are active", "12 of 18 links are active"},
                      Case{"98.5%, a=b@c: d/e_f+g^h", "98.5%, a=b@c: d/e_f+g^h"},
                      Case{"one; two ; three", "one, two, three"},
                      Case{"x' ; touch /tmp/a ; echo '", "x, touch /tmp/a, echo"},
                      Case{"$(reboot) `reboot` ${HOME}", "reboot reboot HOME"},
                      Case{"a*b?c[0-9]!d#e~f|g&h<i>j\\k\"l", "a b c 0-9 d e f g h i j k l"},
                      Case{"line\nline\r\n\tline\x7f\x01", "line line line"},
                      Case{std::string_view("a\0b", 3), "a b"},
                      Case{"caf\xc3\xa9 \xe2\x80\xa6", "caf- -"}, Case{"\xff\x80", "-"},
                      Case{"  blanks   ", "blanks"}));

TEST(HarmlessTest, MarksTextThatWasCut) {
  EXPECT_EQ(harmless("one two three", 13), "one two three");
  EXPECT_EQ(harmless("one two three", 12), "one two t...");
  EXPECT_EQ(harmless("one two three", 11), "one two...");
  EXPECT_EQ(harmless("one two three", 2), "..");
  EXPECT_EQ(harmless("one two three", 0), "");
}

TEST(HarmlessTest, IsIdempotent) {
  std::string all;
  for (int byte = 0; byte < 256; ++byte) all.push_back(static_cast<char>(byte));
  const auto once = harmless(all, 400);
  EXPECT_EQ(harmless(once, 400), once);
}

Report report_saying(std::string message) {
  auto report = sick_report();
  report.findings[0].message = std::move(message);
  return report;
}

TEST(NpdReportTest, NamesTheWorstFinding) {
  EXPECT_EQ(to_npd(report_saying("rate 200 Gb/s")),
            "unhealthy: ib.rate mlx5_ib3: rate 200 Gb/s; reseat or replace…; 3 of 5 checks\n");
}

TEST(NpdReportTest, CountsTheOthers) {
  auto report = report_saying("slow");
  report.findings.push_back(report.findings[0]);
  report.findings.push_back(report.findings[0]);
  report.findings[0].remedy = Remedy::none;
  EXPECT_EQ(to_npd(report), "unhealthy: ib.rate mlx5_ib3: slow (and 2 more); 3 of 5 checks\n");
}

TEST(NpdReportTest, CountsTheChecksOfAHealthyNode) {
  EXPECT_EQ(to_npd(healthy_report()), "healthy: 1 of 1 check\n");
}

TEST(NpdReportTest, DoesNotGiveAWarningAsTheReasonForHealthy) {
  auto report = healthy_report();
  report.findings.push_back({.check = "host.swap",
                             .device = "node",
                             .outcome = Outcome::warn,
                             .message = "8 GiB of swap"});
  EXPECT_EQ(to_npd(report), "healthy, warning: host.swap: 8 GiB of swap; 1 of 1 check\n");
}

TEST(NpdReportTest, NamesUnobservedFacts) {
  EXPECT_EQ(to_npd(unseen_report()), "unknown: 34 of 72 checks; not observed: GPUs, verbs\n");
  EXPECT_EQ(to_nhc(unseen_report()), "unknown: 34 of 72 checks, not observed: GPUs, verbs\n");
  auto report = unseen_report();
  report.findings.push_back({.check = "host.swap",
                             .device = "node",
                             .outcome = Outcome::warn,
                             .message = "8 GiB of swap"});
  EXPECT_EQ(to_npd(report), to_npd(unseen_report()));
}

TEST(NpdReportTest, ExplainsAnUnknownVerdict) {
  EXPECT_EQ(to_npd(undecided_report(11)), "unknown: nothing here could be judged, 11 skipped\n");
  EXPECT_EQ(to_npd(undecided_report(0)), "unknown: no check was selected\n");
  EXPECT_EQ(to_nhc(undecided_report(0)), to_npd(undecided_report(0)));
}

TEST(NpdReportTest, StaysWithinEightyBytesOfValidText) {
  for (std::size_t length = 0; length < 200; ++length) {
    std::string message(length, 'x');
    for (int i = 0; i < 40; ++i) message += "é";
    auto report = report_saying(message);
    report.findings.push_back(report.findings[0]);
    const auto line = to_npd(report);
    EXPECT_LE(line.size(), 80U);
    ASSERT_TRUE(line.ends_with("\n"));
    const auto text = line.substr(0, line.size() - 1);
    EXPECT_EQ(printable(text), text);
  }
}

TEST(NpdReportTest, KeepsHostileTextOnOneLine) {
  const auto line = to_npd(hostile_report());
  EXPECT_EQ(std::ranges::count(line, '\n'), 1);
  EXPECT_LE(line.size(), 80U);
}

TEST(NhcReportTest, HasNoSpecialCharacters) {
  EXPECT_EQ(to_nhc(sick_report()),
            "unhealthy: ib.rate mlx5_ib3: 200 Gb/s 2X NDR, expected 400 Gb/s, reseat or replace "
            "the part, 3 of 5 checks, not observed: kernel log\n");
}

TEST(NhcReportTest, IsSafeForAShell) {
  const auto line = to_nhc(hostile_report());
  EXPECT_EQ(line.find_first_of("'\"`$\\*?;|<>&()[]{}!#~"), std::string::npos) << line;
  EXPECT_EQ(std::ranges::count(line, '\n'), 1);
  EXPECT_TRUE(
      std::all_of(line.begin(), line.end() - 1, [](char c) { return c >= ' ' && c < 0x7f; }));
}

TEST(NhcReportTest, StaysWithinTwoHundredBytes) {
  EXPECT_LE(to_nhc(report_saying(std::string(1000, 'x'))).size(), 200U);
}

}  // namespace
}  // namespace muster
