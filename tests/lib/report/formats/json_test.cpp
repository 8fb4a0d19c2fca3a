// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "tests/lib/report/sample_report.hpp"

namespace muster {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

std::string complaint_about(std::string_view json) {
  const auto report = parse_report(json);
  return report ? "accepted" : report.error().message;
}

// The sick report with one piece of its text replaced.
std::string with(std::string_view from, std::string_view to) {
  auto json = to_json(sick_report(), {.indent = 0});
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

TEST(JsonReportTest, LeavesPlainPassesOutUnlessVerbose) {
  EXPECT_THAT(to_json(healthy_report()), Not(HasSubstr("96 cores")));
  EXPECT_THAT(to_json(healthy_report(), {.verbose = true}), HasSubstr("96 cores"));
}

TEST(JsonReportTest, TakesOneLineWithoutIndentation) {
  const auto json = to_json(hostile_report(), {.verbose = true, .indent = 0});
  EXPECT_EQ(std::ranges::count(json, '\n'), 1);
  EXPECT_TRUE(json.ends_with('\n'));
}

TEST(JsonReportTest, ReadsBackAsItWas) {
  auto report = sick_report();
  report.snapshot = "fleet/gpu-0007.json";
  EXPECT_THAT(to_json(report), AllOf(Not(HasSubstr("ways")), Not(HasSubstr("warnings"))));
  report.ways = {"NET/IB/GDRDMA: 0-7 to 8-15", "P2P/CUMEM: 0 to 1"};
  report.warnings = {"NET/IB : Got completion with error 12"};
  const auto again = parse_report(to_json(report, {.verbose = true}));
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_TRUE(*again == report);
}

TEST(JsonReportTest, NumbersThatJsonLacksAreNull) {
  auto report = sick_report();
  report.findings[0].observed = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THAT(to_json(report, {.indent = 0}), HasSubstr(R"("observed":null)"));
}

TEST(JsonReportTest, HostileTextStaysText) {
  const auto again = parse_report(to_json(hostile_report()));
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_THAT(again->node, HasSubstr("a\\x0ab"));
  EXPECT_EQ(again->findings.size(), 4U);
}

TEST(ReadReportTest, NamesThePlaceOfWhatIsWrong) {
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

TEST(ReadReportTest, TakesReportsThatTellNoCoverage) {
  EXPECT_EQ(complaint_about(with(R"("coverage":)", R"("kept_for_others":)")), "accepted");
  EXPECT_EQ(complaint_about(with(R"("required":false)", R"("required":"no")")),
            "/coverage/not_observed/0/required: expected true or false");
}

TEST(ReadReportTest, IgnoresKeysOfANewerMuster) {
  EXPECT_EQ(complaint_about(with(R"("node":)", R"("colour":"blue","node":)")), "accepted");
}

}  // namespace
}  // namespace muster
