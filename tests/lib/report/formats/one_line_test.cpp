// SPDX-License-Identifier: Apache-2.0
// The formats of one line, for node-problem-detector and NHC.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "lib/base/text.hpp"
#include "tests/lib/report/sample_report.hpp"

namespace muster {
namespace {

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
