// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "tests/lib/report/sample_report.hpp"

namespace muster {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string written(const Report& report, bool every_iteration) {
  return to_json(report, {.verbose = true, .every_iteration = every_iteration, .indent = 0});
}

std::string complaint_with(std::string_view from, std::string_view to) {
  auto json = written(measured_report(), true);
  const auto place = json.find(from);
  EXPECT_NE(place, std::string::npos) << from;
  const auto report = parse_report(json.replace(place, from.size(), to));
  return report ? "accepted" : report.error().message;
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

TEST(MeasurementTest, AReportWithoutAnyHasNoSuchKey) {
  EXPECT_THAT(written(sick_report(), true), Not(HasSubstr("measurements")));
}

TEST(MeasurementTest, EveryIterationIsWrittenOnlyWhenAskedFor) {
  EXPECT_THAT(written(measured_report(), false), Not(HasSubstr("iterations_us")));
}

TEST(MeasurementTest, ReadsBackAsItWas) {
  auto report = measured_report();
  report.measurements[0].statistics->median_low_us = 85899.5;
  report.measurements[0].wrong_elements.reset();
  const auto again = parse_report(written(report, true));
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_TRUE(*again == report);
}

TEST(MeasurementTest, OfATestOfANodeItSaysTheRepeatsAndNoTimes) {
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

TEST(MeasurementTest, NumbersThatJsonLacksAreNull) {
  auto report = measured_report();
  report.measurements[0].value = std::numeric_limits<double>::infinity();
  EXPECT_THAT(written(report, false), HasSubstr(R"("value":null,"unit")"));
}

TEST(MeasurementTest, HostileTextStaysText) {
  auto report = measured_report();
  report.measurements[0].conditions.library = kHostile;
  EXPECT_THAT(written(report, false), HasSubstr(R"("library":"a\\x0ab)"));
}

TEST(MeasurementTest, ReadingNamesThePlaceOfWhatIsWrong) {
  EXPECT_EQ(complaint_with(R"("ranks":16)", R"("ranks":1.5)"),
            "/measurements/0/conditions/ranks: expected a whole number");
  EXPECT_EQ(complaint_with(R"("min_us":85899.0,)", ""),
            "/measurements/0/statistics/min_us: missing");
  EXPECT_EQ(
      complaint_with("muster.measurement/1", "muster.measurement/2"),
      R"(/measurements/0/schema: expected "muster.measurement/1", got "muster.measurement/2")");
  EXPECT_EQ(complaint_with(R"("unit":"GB/s")", R"("unit":7)"),
            "/measurements/0/unit: expected a string");
  EXPECT_EQ(complaint_with("[85899.0,", "[null,"),
            "/measurements/0/iterations_us/0: expected a number");
  EXPECT_EQ(complaint_with(R"("quantity")", R"("new":1,"quantity")"), "accepted");
}

}  // namespace
}  // namespace muster
