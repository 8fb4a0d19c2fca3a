// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/lib/report/sample_report.hpp"
#include "tests/support/temp_dir.hpp"

namespace muster {
namespace {

using ::testing::HasSubstr;

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
