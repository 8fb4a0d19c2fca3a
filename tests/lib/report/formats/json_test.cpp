// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <limits>

#include "tests/lib/report/sample_report.hpp"
#include "tests/support/matchers.hpp"

namespace muster {
namespace {

std::string complaint_about(std::string_view json) {
  const auto report = parse_report(json);
  return report ? "accepted" : report.error().message;
}

// A report with a part of its text replaced.
std::string with(std::string_view from, std::string_view to, const Report& report = sick_report()) {
  auto json = to_json(report, {.every_iteration = true, .indent = 0});
  const auto place = json.find(from);
  EXPECT_NE(place, std::string::npos) << from;
  return json.replace(place, from.size(), to);
}

TEST(JsonReportTest, HasTheDocumentedKeysInOrder) {
  auto report = sick_report();
  report.checks = {{"ib.rate", Outcome::fail}};
  report.findings.resize(1);
  report.probes.resize(1);
  EXPECT_EQ(
      to_json(report, {.indent = 0}),
      R"({"schema":"muster.report/1","node":"gpu-0007","profile":"nd96isr_h100_v5",)"
      R"("profile_evidence":["chassis asset tag says Azure","8 x 10de:2330"],"context":"prolog",)"
      R"("started":"2026-11-20T12:00:00Z","duration_ms":11.2,"verdict":"unhealthy",)"
      R"("coverage":{"judged":3,"selected":5,"not_observed":[{"what":"kernel log",)"
      R"("reason":"no answer within 2 s","required":false}]},)"
      R"("physical_host":"GGBB90904476","muster":"0.1.0","snapshot":"",)"
      R"("checks":[{"id":"ib.rate","outcome":"fail"}],)"
      R"("findings":[{"check":"ib.rate","device":"mlx5_ib3","outcome":"fail",)"
      R"("message":"200 Gb/s (2X NDR), expected 400 Gb/s","observed":200.0,"limit":400.0,)"
      R"("unit":"Gb/s","remedy":"reseat_or_replace","code":"NHC2005",)"
      R"("category":"Resource.Hpc.Unhealthy.IBPortFlapping"}],)"
      R"("probes":[{"name":"identity","status":"ok","duration_ms":0.4}]})"
      "\n");
}

TEST(JsonReportTest, HasPlainPassesOnlyIfVerbose) {
  EXPECT_THAT(to_json(healthy_report()), Not(HasSubstr("96 cores")));
  EXPECT_THAT(to_json(healthy_report(), {.verbose = true}), HasSubstr("96 cores"));
}

TEST(JsonReportTest, IsOneLineWithoutIndentation) {
  const auto json = to_json(hostile_report(), {.verbose = true, .indent = 0});
  EXPECT_EQ(std::ranges::count(json, '\n'), 1);
  EXPECT_TRUE(json.ends_with('\n'));
}

TEST(JsonReportTest, RoundTrips) {
  auto report = sick_report();
  report.snapshot = "fleet/gpu-0007.json";
  EXPECT_THAT(to_json(report), AllOf(Not(HasSubstr("ways")), Not(HasSubstr("warnings"))));
  report.ways = {"NET/IB/GDRDMA: 0-7 to 8-15", "P2P/CUMEM: 0 to 1"};
  report.warnings = {"NET/IB : Got completion with error 12"};
  const auto again = parse_report(to_json(report, {.verbose = true}));
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_TRUE(*again == report);
}

TEST(JsonReportTest, AJobHasNodesInPlaceOfANode) {
  auto report = sick_report();
  EXPECT_THAT(to_json(report),
              AllOf(Not(HasSubstr("accused")), Not(HasSubstr("\"judged\": true"))));
  report.node.reset();
  report.nodes = {"a", "b"};
  report.matrices.push_back(
      {.names = report.nodes, .cells = {{std::nullopt, 93.5}, {0.0, std::nullopt}}, .usual = 187});
  const auto json = to_json(report, {.indent = 0});
  EXPECT_THAT(json, AllOf(HasSubstr(R"("node":null)"), HasSubstr(R"("judged":true)"),
                          HasSubstr(R"("nodes":["a","b"],"accused":[])")));
  const auto again = parse_report(json);
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(again->node, std::nullopt);
  EXPECT_EQ(again->nodes, report.nodes);
  EXPECT_EQ(again->matrices, report.matrices);
}

TEST(JsonReportTest, WritesNanAsNull) {
  auto report = sick_report();
  report.findings[0].observed = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THAT(to_json(report, {.indent = 0}), HasSubstr(R"("observed":null)"));
}

TEST(JsonReportTest, MakesTextPrintable) {
  const auto again = parse_report(to_json(hostile_report()));
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_THAT(again->node.value_or(""), HasSubstr("a\\x0ab"));
  EXPECT_EQ(again->findings.size(), 4U);
}

TEST(ReadReportTest, NamesThePlaceOfAnError) {
  EXPECT_THAT(complaint_about("{"), HasSubstr("parse error at line 1"));
  EXPECT_EQ(complaint_about("[]"), "/: expected an object");
  EXPECT_EQ(complaint_about(with("muster.report/1", "muster.report/2")),
            R"(/schema: expected "muster.report/1", got "muster.report/2")");
  EXPECT_EQ(complaint_about(with(R"("node":"gpu-0007")", R"("node":7)")),
            "/node: expected a string");
  EXPECT_EQ(complaint_about(with(R"("device":"mc0",)", "")), "/findings/1/device: missing");
  EXPECT_EQ(
      complaint_about(with(R"("remedy":"none")", R"("remedy":"pray")")),
      "/findings/1/remedy: expected none, watch, restart_app, reset_gpu, restart_service, reboot, "
      "reseat_or_replace, fix_config or report_to_provider");
  EXPECT_EQ(complaint_about(with(R"("verdict":"unhealthy")", R"("verdict":"fine")")),
            "/verdict: expected healthy, unhealthy or unknown");
  EXPECT_EQ(complaint_about(with(R"("probes":[{)", R"("probes":[3,{)")),
            "/probes/0: expected an object");
}

TEST(ReadReportTest, AcceptsReportsWithoutCoverageAndWithUnknownKeys) {
  EXPECT_EQ(complaint_about(with(R"("coverage":)", R"("kept_for_others":)")), "accepted");
  EXPECT_EQ(complaint_about(with(R"("required":false)", R"("required":"no")")),
            "/coverage/not_observed/0/required: expected true or false");
}

std::string written(const Report& report, bool every_iteration) {
  return to_json(report, {.verbose = true, .every_iteration = every_iteration, .indent = 0});
}

TEST(MeasurementTest, HasTheDocumentedKeysInOrder) {
  EXPECT_THAT(
      written(measured_report(), true),
      HasSubstr(
          R"("probes":[],"measurements":[{"schema":"muster.measurement/1","quantity":"busbw",)"
          R"("value":187.5,"unit":"GB/s","conditions":{"collective":"all_reduce","type":"f32",)"
          R"("reduction":"sum","placement":"out_of_place","size_bytes":8589934592,"ranks":16,)"
          R"("nodes":2,"backend":"nccl","library":"NCCL 2.28.3","algorithm":"ring",)"
          R"("iterations":3},"statistics":{"median_us":85900.0,"median_low_us":null,)"
          R"("median_high_us":null,"p5_us":85899.1,"p95_us":85900.9,"min_us":85899.0,)"
          R"("mean_us":85900.0},"wrong_elements":0,"iterations_us":[85899.0,85900.0,85901.0]}]})"));
}

TEST(MeasurementTest, HasIterationsOnlyOnRequest) {
  EXPECT_THAT(written(measured_report(), false), Not(HasSubstr("iterations_us")));
}

TEST(MeasurementTest, RoundTrips) {
  auto report = measured_report();
  report.measurements[0].statistics->median_low_us = 85899.5;
  report.measurements[0].wrong_elements.reset();
  const auto again = parse_report(written(report, true));
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_TRUE(*again == report);
}

TEST(MeasurementTest, HasRepeatsInsteadOfTimesForANodeTest) {
  auto report = measured_report();
  auto& measurement = report.measurements[0];
  measurement.statistics.reset();
  measurement.repeats = {.count = 7, .min = 1, .median = 2, .max = 4, .deviation = 0.5};
  measurement.repeats->median_low = 1.5;
  const auto json = written(report, false);
  EXPECT_THAT(json, Not(HasSubstr("statistics")));
  EXPECT_THAT(json, HasSubstr(R"("repeats":{"count":7,"min":1.0,"median":2.0,"max":4.0,)"
                              R"("deviation":0.5,"median_low":1.5,"median_high":null},)"));
  const auto again = parse_report(json);
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(again->measurements[0].repeats, measurement.repeats);
  EXPECT_EQ(again->measurements[0].statistics, std::nullopt);
}

TEST(MeasurementTest, IsReadWithAllItsKeys) {
  const auto complaint_with = [](std::string_view from, std::string_view to) {
    return complaint_about(with(from, to, measured_report()));
  };
  EXPECT_EQ(complaint_with(R"("ranks":16)", R"("ranks":1.5)"),
            "/measurements/0/conditions/ranks: expected a whole number");
  EXPECT_EQ(complaint_with(R"("min_us":85899.0,)", ""),
            "/measurements/0/statistics/min_us: missing");
  EXPECT_EQ(complaint_with("[85899.0,", "[null,"),
            "/measurements/0/iterations_us/0: expected a number");
  EXPECT_THAT(complaint_with("muster.measurement/1", "muster.measurement/2"),
              HasSubstr("/measurements/0/schema: expected"));
}

}  // namespace
}  // namespace muster
