// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "tests/lib/report/sample_report.hpp"
#include "tests/support/matchers.hpp"
#include "tests/support/temp_dir.hpp"
#include "tests/support/well_formed.hpp"

namespace muster {
namespace {

Report with_pictures() {
  auto report = sick_report();
  report.breakdowns.push_back({.title = "where it went",
                               .unit = "GB/s",
                               .parts = {{.what = "reached", .value = 93.5, .reached = true},
                                         {.what = "node4: HCA 1", .value = 93.5},
                                         {.what = "nothing", .value = 0}}});
  report.matrices.push_back({.title = "between nodes",
                             .unit = "GB/s",
                             .names = {"a", "b"},
                             .cells = {{std::nullopt, 93.5}, {0.0, std::nullopt}},
                             .usual = 187});
  return report;
}

TEST(HtmlReportTest, ShowsFindingsAndRemedies) {
  const auto html = to_html(sick_report());
  EXPECT_THAT(html,
              AllOf(HasSubstr("<h1>gpu-0007 <span class=\"badge fail\">unhealthy</span></h1>"),
                    HasSubstr("200 Gb/s (2X NDR), expected 400 Gb/s"),
                    HasSubstr("reseat or replace the part"), HasSubstr("kernel log"),
                    Not(HasSubstr("8 HCAs")), Not(HasSubstr("a hypervisor hides"))));
  EXPECT_THAT(to_html(sick_report(), {.verbose = true}), HasSubstr("8 HCAs"));
}

TEST(HtmlReportTest, NeedsNoOtherFiles) {
  const auto html = to_html(with_pictures());
  EXPECT_THAT(html, AllOf(Not(HasSubstr("<script")), Not(HasSubstr("http")), Not(HasSubstr("url(")),
                          HasSubstr("width=device-width")));
}

TEST(HtmlReportTest, IsWellFormed) {
  for (const auto& report : {sick_report(), healthy_report(), hostile_report(), with_pictures()}) {
    EXPECT_EQ(unbalanced(to_html(report, {.verbose = true})), "");
  }
}

TEST(HtmlReportTest, EscapesText) {
  auto report = with_pictures();
  const std::string evil = "<script>alert(1)</script>\"'&";
  report.node = report.profile = report.findings[0].message = report.findings[0].device = evil;
  report.matrices[0].names[0] = report.breakdowns[0].parts[0].what = evil;
  report.breakdowns[0].title = report.matrices[0].title = report.matrices[0].unit = evil;
  const auto html = to_html(report);
  EXPECT_THAT(html, AllOf(Not(HasSubstr("<script")), HasSubstr("&lt;script&gt;")));
  EXPECT_EQ(unbalanced(html), "");
}

TEST(HtmlReportTest, DrawsMatricesAndBreakdowns) {
  const auto html = to_html(with_pictures());
  EXPECT_THAT(html,
              AllOf(HasSubstr("<title>a - b: 93.5 GB/s</title>"), HasSubstr("fill=\"#c62828\""),
                    HasSubstr("<title>b - a: did not finish</title>"),
                    HasSubstr("93.5 GB/s node4: HCA 1"), Not(HasSubstr("nothing"))));
}

TEST(HtmlReportTest, MatricesHaveColumnLabelsAndALegend) {
  const auto html = to_html(with_pictures());
  EXPECT_THAT(html, AllOf(HasSubstr("rotate(-90)\">b</text>"), HasSubstr("187 GB/s, as usual"),
                          HasSubstr("112.2 GB/s or less"), HasSubstr("</i>did not finish"),
                          HasSubstr("</i>not measured"), Not(HasSubstr("<title>a - a"))));
  auto report = with_pictures();
  report.matrices[0].cells[1][0].reset();
  report.matrices[0].more_is_better = false;
  EXPECT_THAT(to_html(report), AllOf(HasSubstr("<title>b - a: not measured</title>"),
                                     HasSubstr("311.7 GB/s or more")));
}

TEST(HtmlReportTest, AFindingLinksToItsPicture) {
  auto report = with_pictures();
  EXPECT_THAT(to_html(report), Not(HasSubstr("href")));
  report.matrices[0].check = report.findings[0].check;
  const auto html = to_html(report);
  EXPECT_THAT(html, AllOf(HasSubstr("<a href=\"#picture-1\">picture</a>"),
                          HasSubstr("<figure id=\"picture-1\">")));
}

TEST(HtmlReportTest, DrawsBandwidthsBySizeWithTheirLimit) {
  auto report = measured_report();
  auto small = report.measurements[0];
  small.conditions.size_bytes = 1024;
  small.value = 0.25;
  report.measurements.push_back(small);
  small.conditions.placement = "in_place";
  small.value = 0.5;
  report.measurements.push_back(small);
  report.findings = {{.check = "bench.job_all_reduce",
                      .device = "job",
                      .outcome = Outcome::fail,
                      .message = "m",
                      .limit = 190.0}};
  const auto html = to_html(report);
  EXPECT_EQ(unbalanced(html), "");
  EXPECT_THAT(html, AllOf(HasSubstr("<polyline"), HasSubstr("class=\"limit\""),
                          HasSubstr("limit 190 GB/s"), HasSubstr("<a href=\"#picture-1\""),
                          HasSubstr("<td>1 KiB</td><td class=\"number\">0.25</td>"
                                    "<td class=\"number\">0.50</td>"),
                          HasSubstr("<td>8 GiB</td><td class=\"number\">187.50</td>"
                                    "<td class=\"number\">-</td>"),
                          Not(HasSubstr("<h2>Measurements</h2>"))));
}

TEST(HtmlReportTest, DoesNotDrawLargeMatrices) {
  auto report = sick_report();
  report.matrices.push_back(
      {.title = "t", .unit = "", .names = std::vector<std::string>(129, "n"), .cells = {}});
  EXPECT_THAT(to_html(report), HasSubstr("129 are too many to draw"));
}

TEST(JunitReportTest, HasATestCasePerCheck) {
  EXPECT_EQ(to_junit(sick_report()),
            R"(<?xml version="1.0" encoding="UTF-8"?>
<testsuites>
  <testsuite name="muster" tests="5" failures="1" errors="1" skipped="1" time="0.011" timestamp="2026-11-20T12:00:00" hostname="gpu-0007">
    <properties>
      <property name="verdict" value="unhealthy"/>
      <property name="profile" value="nd96isr_h100_v5"/>
      <property name="context" value="prolog"/>
      <property name="coverage" value="3 of 5 checks; not observed: kernel log"/>
    </properties>
    <testcase classname="muster.host" name="host.edac" time="0">
      <error type="unknown" message="host.edac mc0: ue_count: Permission denied">host.edac mc0: ue_count: Permission denied</error>
    </testcase>
    <testcase classname="muster.host" name="host.swap" time="0">
      <system-out>host.swap: 8 GiB of swap, expected none; fix the configuration</system-out>
    </testcase>
    <testcase classname="muster.ib" name="ib.present" time="0"/>
    <testcase classname="muster.ib" name="ib.rate" time="0">
      <failure type="fail" message="ib.rate mlx5_ib3: 200 Gb/s (2X NDR), expected 400 Gb/s; reseat or replace the part">ib.rate mlx5_ib3: 200 Gb/s (2X NDR), expected 400 Gb/s; reseat or replace the part</failure>
    </testcase>
    <testcase classname="muster.pci" name="pci.acs" time="0">
      <skipped message="pci.acs: a hypervisor hides the switches"/>
    </testcase>
  </testsuite>
</testsuites>
)");
}

TEST(JunitReportTest, ATrialIsNotAnError) {
  auto report = sick_report();
  report.judged = false;
  EXPECT_THAT(to_junit(report), HasSubstr(R"(errors="0" skipped="2")"));
}

TEST(JunitReportTest, KeepsEveryFailureOfACheck) {
  auto report = sick_report();
  report.findings.push_back(report.findings[0]);
  report.findings.back().device = "mlx5_ib4";
  EXPECT_THAT(to_junit(report), HasSubstr("replace the part\nib.rate mlx5_ib4: "));
}

TEST(JunitReportTest, EscapesMarkupAndDropsInvalidCharacters) {
  auto report = sick_report();
  report.findings[0].message = "<b>&\"'\x01\xef\xbf\xbe";
  EXPECT_THAT(to_junit(report),
              HasSubstr("message=\"ib.rate mlx5_ib3: &lt;b&gt;&amp;&quot;&apos;\\x01; reseat"));
}

TEST(JunitReportTest, IsWellFormedForHostileText) {
  if (std::system("xmllint --version >/dev/null 2>&1") != 0) GTEST_SKIP() << "no xmllint here";
  const TempDir dir;
  dir.write("report.xml", to_junit(hostile_report()));
  EXPECT_EQ(std::system(fmt::format("xmllint --noout {}/report.xml", dir.path().string()).c_str()),
            0);
}

}  // namespace
}  // namespace muster
