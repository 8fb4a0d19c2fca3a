// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "lib/base/text.hpp"
#include "tests/lib/report/sample_report.hpp"
#include "tests/support/matchers.hpp"
#include "tests/support/temp_dir.hpp"

namespace muster {
namespace {

void expect_lines(const std::string& metrics, std::initializer_list<std::string_view> lines) {
  for (const auto line : lines) EXPECT_THAT(metrics, HasSubstr(fmt::format("\n{}\n", line)));
}

TEST(PrometheusReportTest, HasOutcomesAsNumbers) {
  EXPECT_THAT(to_prometheus(sick_report()), HasSubstr(R"(
# HELP muster_check_outcome Outcome of each check: -1 skip, 0 pass, 1 warn, 2 unknown, 3 fail.
# TYPE muster_check_outcome gauge
muster_check_outcome{context="prolog",check="host.edac"} 2
muster_check_outcome{context="prolog",check="host.swap"} 1
muster_check_outcome{context="prolog",check="ib.present"} 0
muster_check_outcome{context="prolog",check="ib.rate"} 3
muster_check_outcome{context="prolog",check="pci.acs"} -1
)"));
}

TEST(PrometheusReportTest, HasTheVerdictOnTheScaleOfOutcomes) {
  EXPECT_THAT(to_prometheus(sick_report()), HasSubstr("\nmuster_verdict{context=\"prolog\"} 3\n"));
  EXPECT_THAT(to_prometheus(healthy_report()),
              HasSubstr("\nmuster_verdict{context=\"manual\"} 0\n"));
  auto report = healthy_report();
  report.verdict = Verdict::unknown;
  EXPECT_THAT(to_prometheus(report), HasSubstr("\nmuster_verdict{context=\"manual\"} 2\n"));
}

// "name{labels}" of each sample.
std::vector<std::string> series_of(const std::string& metrics) {
  std::vector<std::string> series;
  for (const auto line : split_lines(metrics)) {
    if (!line.starts_with('#')) series.emplace_back(line.substr(0, line.rfind(' ')));
  }
  return series;
}

// node_exporter refuses all files if two of them have a series in common, or two texts of help.
TEST(PrometheusReportTest, ABenchmarkSharesNoMetricWithACheck) {
  auto check = sick_report();
  check.context = "manual";
  std::set<std::string> names;
  for (const auto& each : series_of(to_prometheus(check))) {
    names.insert(each.substr(0, each.find('{')));
  }
  auto of_node = measured_report();
  of_node.benchmark = "node";
  const auto job = series_of(to_prometheus(measured_report()));
  const auto node = series_of(to_prometheus(of_node));
  ASSERT_FALSE(job.empty() || names.empty());
  for (const auto& each : job) {
    EXPECT_FALSE(names.contains(each.substr(0, each.find('{')))) << each;
    EXPECT_EQ(std::ranges::count(node, each), 0) << each;
    EXPECT_EQ(std::ranges::count(job, each), 1) << each;
  }
}

// Many nodes judged on one machine.
TEST(PrometheusReportTest, SnapshotsOfTwoNodesShareNoSeries) {
  auto first = sick_report();
  first.snapshot = "a.json";
  auto second = first;
  second.node = "gpu-0008";
  const auto series = series_of(to_prometheus(second));
  ASSERT_FALSE(series.empty());
  for (const auto& each : series_of(to_prometheus(first))) {
    EXPECT_EQ(std::ranges::count(series, each), 0) << each;
    EXPECT_EQ(each.find("node=\"gpu-0007\""), each.rfind("node=\"gpu-0007\"")) << each;
  }
}

TEST(PrometheusReportTest, HasTheDistanceOfEachValueFromItsLimit) {
  expect_lines(
      to_prometheus(sick_report()),
      {R"(muster_headroom_ratio{context="prolog",check="ib.rate",device="mlx5_ib3"} -0.5)"});
  auto report = measured_report();
  report.findings = {{.check = "bench.min_busbw",
                      .device = "job",
                      .outcome = Outcome::pass,
                      .observed = 187.5,
                      .limit = 150.0,
                      .unit = "GB/s"}};
  expect_lines(
      to_prometheus(report),
      {R"(muster_bench_headroom_ratio{command="all_reduce",check="bench.min_busbw",)"
       R"(device="job"} 0.25)",
       R"(muster_bench_bus_bandwidth_bytes_per_second{command="all_reduce",test="all_reduce",)"
       R"(quantity="busbw",device="job",nodes="2"} 187500000000)",
       R"(muster_bench_limit_bus_bandwidth_bytes_per_second{command="all_reduce",)"
       R"(check="bench.min_busbw",device="job"} 150000000000)"});
}

TEST(PrometheusReportTest, ManySizesAndDevicesStayFewSeries) {
  auto report = measured_report();
  const auto first = report.measurements.front();
  for (int i = 0; i < 1000; ++i) {
    report.measurements.push_back(first);
    report.measurements.back().conditions.size_bytes = i;
    report.findings.push_back({.check = "bench.peer_copy",
                               .device = fmt::format("gpu{}", i),
                               .outcome = Outcome::fail,
                               .observed = 1.0,
                               .limit = 2.0,
                               .unit = "GB/s"});
  }
  EXPECT_LT(series_of(to_prometheus(report)).size(), 600U);
}

// A check that passes may have found exactly the expected number.
TEST(PrometheusReportTest, APassOfACheckIsNotCloseToItsLimit) {
  auto report = healthy_report();
  report.findings = {{.check = "ib.present",
                      .device = "node",
                      .outcome = Outcome::pass,
                      .observed = std::int64_t{8},
                      .limit = std::int64_t{8}}};
  EXPECT_THAT(to_prometheus(report), Not(HasSubstr("headroom")));
}

Report report_with_readings() {
  auto report = healthy_report();
  report.readings = {
      {"headroom_ratio", {{"check", "gpu.temperature"}, {"device", "gpu3"}}, 0.125},
      {"xid_events_total", {{"code", "94"}, {"device", "gpu3"}}, 5},
      {"gpu_temperature_celsius", {{"device", "gpu3"}}, 70},
      {"device_info", {{"device", "gpu3"}, {"kind", "gpu"}, {"serial", "16\"50"}}, 1}};
  return report;
}

TEST(PrometheusReportTest, HasTheReadings) {
  const auto metrics = to_prometheus(report_with_readings());
  expect_lines(
      metrics,
      {R"(muster_headroom_ratio{context="manual",check="gpu.temperature",device="gpu3"} 0.125)",
       "# TYPE muster_xid_events_total counter",
       R"(muster_xid_events_total{context="manual",code="94",device="gpu3"} 5)",
       R"(muster_device_info{context="manual",device="gpu3",kind="gpu",serial="16\"50"} 1)"});
  EXPECT_THAT(metrics, Not(HasSubstr("celsius")));
  EXPECT_THAT(to_prometheus(healthy_report()),
              AllOf(Not(HasSubstr("muster_xid")), Not(HasSubstr("muster_device_info"))));
}

TEST(PrometheusReportTest, HasValuesOfOtherExportersOnRequest) {
  EXPECT_THAT(
      to_prometheus(report_with_readings(), {.all_values = true}),
      HasSubstr("\nmuster_gpu_temperature_celsius{context=\"manual\",device=\"gpu3\"} 70\n"));
}

TEST(PrometheusReportTest, KeepsTheWorstOfTooManyValues) {
  auto report = healthy_report();
  for (int i = 0; i < 1000; ++i) {
    const auto device = fmt::format("gpu{}", i);
    const bool is_worst = i == 999;
    report.readings.push_back(
        {"headroom_ratio", {{"check", "a.b"}, {"device", device}}, is_worst ? -1.0 : 1.0});
    report.readings.push_back(
        {"error_rate_hertz", {{"device", device}, {"kind", "x"}}, is_worst ? 2.0 : 1.0});
  }
  const auto metrics = to_prometheus(report);
  EXPECT_LT(series_of(metrics).size(), 200U);
  EXPECT_THAT(metrics, AllOf(HasSubstr("device=\"gpu999\"} -1\n"),
                             HasSubstr("device=\"gpu999\",kind=\"x\"} 2\n")));
}

TEST(PrometheusReportTest, HasTheCoverage) {
  EXPECT_THAT(to_prometheus(unseen_report()),
              AllOf(HasSubstr("\nmuster_checks_selected{context=\"manual\"} 72\n"),
                    HasSubstr("\nmuster_checks_judged{context=\"manual\"} 34\n"),
                    HasSubstr("muster_not_observed{context=\"manual\",what=\"GPUs\"} 1\n"
                              "muster_not_observed{context=\"manual\",what=\"verbs\"} 0\n")));
}

TEST(PrometheusReportTest, MeasuresTimeInSeconds) {
  expect_lines(to_prometheus(sick_report()),
               {R"(muster_run_duration_seconds{context="prolog"} 0.0112)",
                R"(muster_probe_duration_seconds{context="prolog",probe="identity"} 0.0004)",
                R"(muster_probe_answered{context="prolog",probe="kernel_log"} 0)",
                R"(muster_last_run_timestamp_seconds{context="prolog"} 1795176000)"});
}

TEST(PrometheusReportTest, LeavesOutAnInvalidTime) {
  auto report = healthy_report();
  report.started = "yesterday";
  EXPECT_THAT(to_prometheus(report), Not(HasSubstr("muster_last_run_timestamp_seconds")));
}

TEST(PrometheusReportTest, EscapesLabelsAndHasNoMessagesInThem) {
  EXPECT_THAT(to_prometheus(sick_report()), Not(HasSubstr("200 Gb/s")));
  auto report = healthy_report();
  report.profile = "a\"b\\c\nd";
  EXPECT_THAT(to_prometheus(report), HasSubstr(R"(profile="a\"b\\c\\x0ad")"));
}

TEST(PrometheusReportTest, IsAcceptedByPromtool) {
  if (std::system("promtool --version >/dev/null 2>&1") != 0) GTEST_SKIP() << "no promtool here";
  const TempDir dir;
  auto saved = sick_report();
  saved.snapshot = "a.json";
  for (const auto& report : {sick_report(), healthy_report(), measured_report(), hostile_report(),
                             saved, report_with_readings()}) {
    dir.write("metrics", to_prometheus(report, {.all_values = true}));
    const auto command =
        fmt::format("promtool check metrics <{0}/metrics >{0}/said 2>&1", dir.path().string());
    EXPECT_EQ(std::system(command.c_str()), 0);
    EXPECT_EQ(std::filesystem::file_size(dir.path() / "said"), 0U);
  }
}

}  // namespace
}  // namespace muster
