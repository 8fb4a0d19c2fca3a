// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "tests/lib/report/sample_report.hpp"
#include "tests/support/temp_dir.hpp"

namespace muster {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(PrometheusReportTest, HasOutcomesAsNumbers) {
  EXPECT_THAT(to_prometheus(sick_report()),
              HasSubstr("# HELP muster_check_outcome Outcome of each check: -1 skip, 0 pass, 1 "
                        "warn, 2 unknown, 3 fail.\n"
                        "# TYPE muster_check_outcome gauge\n"
                        "muster_check_outcome{context=\"prolog\",check=\"host.edac\"} 2\n"
                        "muster_check_outcome{context=\"prolog\",check=\"host.swap\"} 1\n"
                        "muster_check_outcome{context=\"prolog\",check=\"ib.present\"} 0\n"
                        "muster_check_outcome{context=\"prolog\",check=\"ib.rate\"} 3\n"
                        "muster_check_outcome{context=\"prolog\",check=\"pci.acs\"} -1\n"));
}

TEST(PrometheusReportTest, HasTheVerdictAsExitStatus) {
  EXPECT_THAT(to_prometheus(sick_report()), HasSubstr("\nmuster_verdict{context=\"prolog\"} 1\n"));
  EXPECT_THAT(to_prometheus(healthy_report()),
              HasSubstr("\nmuster_verdict{context=\"manual\"} 0\n"));
}

TEST(PrometheusReportTest, HasTheCoverage) {
  EXPECT_THAT(to_prometheus(unseen_report()),
              AllOf(HasSubstr("\nmuster_checks_selected{context=\"manual\"} 72\n"),
                    HasSubstr("\nmuster_checks_judged{context=\"manual\"} 34\n"),
                    HasSubstr("muster_not_observed{context=\"manual\",what=\"GPUs\"} 1\n"
                              "muster_not_observed{context=\"manual\",what=\"verbs\"} 0\n")));
}

TEST(PrometheusReportTest, MeasuresTimeInSeconds) {
  EXPECT_THAT(
      to_prometheus(sick_report()),
      AllOf(HasSubstr("muster_run_duration_seconds{context=\"prolog\"} 0.0112\n"),
            HasSubstr(
                "muster_probe_duration_seconds{context=\"prolog\",probe=\"identity\"} 0.0004\n"),
            HasSubstr("muster_probe_answered{context=\"prolog\",probe=\"kernel_log\"} 0\n"),
            HasSubstr("muster_last_run_timestamp_seconds{context=\"prolog\"} 1795176000\n")));
}

TEST(PrometheusReportTest, LeavesOutAnInvalidTime) {
  auto report = healthy_report();
  report.started = "yesterday";
  EXPECT_THAT(to_prometheus(report), Not(HasSubstr("muster_last_run_timestamp_seconds")));
}

TEST(PrometheusReportTest, EscapesLabels) {
  auto report = healthy_report();
  report.profile = "a\"b\\c\nd";
  EXPECT_THAT(to_prometheus(report), HasSubstr(R"(profile="a\"b\\c\\x0ad")"));
}

TEST(PrometheusReportTest, HasNoDevicesAndMessagesInLabels) {
  EXPECT_THAT(to_prometheus(sick_report()), Not(HasSubstr("mlx5_ib3")));
}

TEST(PrometheusReportTest, IsAcceptedByPromtool) {
  if (std::system("promtool --version >/dev/null 2>&1") != 0) GTEST_SKIP() << "no promtool here";
  const TempDir dir;
  for (const auto& report : {sick_report(), healthy_report(), hostile_report()}) {
    dir.write("metrics", to_prometheus(report));
    const auto command =
        fmt::format("promtool check metrics <{0}/metrics >{0}/said 2>&1", dir.path().string());
    EXPECT_EQ(std::system(command.c_str()), 0);
    EXPECT_EQ(std::filesystem::file_size(dir.path() / "said"), 0U);
  }
}

}  // namespace
}  // namespace muster
