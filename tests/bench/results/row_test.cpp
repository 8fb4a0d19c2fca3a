// SPDX-License-Identifier: Apache-2.0
#include "bench/results/row.hpp"

#include <limits>

#include "tests/bench/results/sample_rows.hpp"
#include "tests/support/matchers.hpp"

namespace muster::bench {
namespace {

using ::testing::DoubleNear;

std::string error_of_times(int ranks, const std::vector<Samples>& samples) {
  const auto timing = timing_of(all_reduce_of(64), ranks, {.samples = samples});
  return timing ? "accepted" : timing.error().message;
}

// The mean is that of nccl-tests: of each rank, then of all.
TEST(TimingTest, AnIterationTakesAsLongAsItsSlowestRank) {
  const auto timing = timing_of(all_reduce_of(64), 2, {{{0, {1, 5, 3}}, {1, {2, 4, 6}}}});
  ASSERT_TRUE(timing) << timing.error().message;
  EXPECT_THAT(timing->seconds, ElementsAre(2, 5, 6));
  EXPECT_EQ(timing->statistics.median, 5);
  EXPECT_EQ(timing->statistics.min, 2);
  EXPECT_DOUBLE_EQ(timing->mean_of_ranks, 3.5);
}

TEST(TimingTest, TheCpuTimeIsTheMeanOfAllRanks) {
  const auto timing = timing_of(all_reduce_of(64), 2, {{{0, {4, 4}, {1, 2}}, {1, {4, 4}, {2, 3}}}});
  ASSERT_TRUE(timing);
  EXPECT_EQ(timing->cpu, 2);
  EXPECT_EQ(timing_of(all_reduce_of(64), 1, {{{0, {4}}}})->cpu, std::nullopt);
  EXPECT_EQ(error_of_times(2, {{0, {4}, {1}}, {1, {4}}}), "rank 1 sent 0 CPU times, rank 0 sent 1");
}

TEST(TimingTest, TheTimeOfAWindowIsDividedByItsMessages) {
  const Operation operation{.collective = Collective::uniband, .bytes = 1U << 20U};
  const auto timing = timing_of(operation, 2, {{{0, {64e-3, 64e-3}}, {1, {32e-3, 32e-3}}}});
  ASSERT_TRUE(timing);
  EXPECT_DOUBLE_EQ(timing->statistics.median, 1e-3);
  EXPECT_DOUBLE_EQ(timing->mean_of_ranks, 0.75e-3);
  EXPECT_DOUBLE_EQ(timing->judged.bus, (1U << 20U) / 1e-3);
}

// 8 GiB over 16 ranks in 84929 us, as in a published run on ND A100 v4.
TEST(TimingTest, HasNcclsBusBandwidth) {
  std::vector<Samples> all(16, {.seconds = {84929e-6}});
  for (int rank = 0; auto& each : all) each.rank = rank++;
  const auto timing = timing_of(all_reduce_of(8 * kGibibyte), 16, {.samples = all});
  ASSERT_TRUE(timing);
  EXPECT_THAT(timing->judged.algorithm, DoubleNear(101.14e9, 1e7));
  EXPECT_THAT(timing->judged.bus, DoubleNear(189.64e9, 1e7));
  EXPECT_DOUBLE_EQ(timing->shown.bus, timing->judged.bus);
}

// In place, one rank moves nothing, and NCCL takes no time on one GPU.
TEST(TimingTest, OneRankHasNoBusBandwidth) {
  auto operation = all_reduce_of(1 << 20);
  EXPECT_EQ(timing_of(operation, 1, {{{0, {1e-6}}}})->judged.bus, 0);
  EXPECT_GT(timing_of(operation, 1, {{{0, {1e-6}}}})->judged.algorithm, 0);
  EXPECT_EQ(timing_of(operation, 1, {{{0, {0, 0}}}})->shown.algorithm, 0);
  operation.in_place = true;
  EXPECT_EQ(timing_of(operation, 1, {{{0, {3e-8}}}})->judged.algorithm, 0);
  EXPECT_GT(timing_of(operation, 2, {{{0, {3e-8}}, {1, {3e-8}}}})->shown.algorithm, 0);
}

TEST(TimingTest, RefusesMissingAndInvalidTimes) {
  EXPECT_EQ(error_of_times(2, {{0, {1}}}), "1 of 2 ranks sent their times");
  EXPECT_EQ(error_of_times(2, {{0, {1}}, {0, {1}}}),
            "rank 0 sent its times twice, or is not a rank");
  EXPECT_EQ(error_of_times(2, {{0, {1}}, {2, {1}}}),
            "rank 2 sent its times twice, or is not a rank");
  EXPECT_EQ(error_of_times(2, {{0, {1, 1}}, {1, {1}}}), "rank 1 sent 1 times, rank 0 sent 2");
  EXPECT_EQ(error_of_times(1, {{0, {}}}), "rank 0 sent 0 times, rank 0 sent 0");
  EXPECT_EQ(error_of_times(2, {{0, {1}}, {1, {0}}}), "rank 1 sent an invalid time: 0 s");
  EXPECT_EQ(error_of_times(1, {{0, {std::numeric_limits<double>::quiet_NaN()}}}),
            "rank 0 sent an invalid time: nan s");
}

TEST(RowTest, HasAFieldForEachPlacement) {
  auto operation = all_reduce_of(1024);
  operation.in_place = true;
  auto row = row_of(operation, 4);
  EXPECT_EQ(row.shape.count, 256U);
  EXPECT_FALSE(row.operation.in_place);
  placement_of(row, operation) = Timing{};
  EXPECT_TRUE(row.in_place.has_value());
  EXPECT_FALSE(row.out_of_place.has_value());
}

TEST(RowMeasurementsTest, IncludeTheConditionsOfEachPlacement) {
  const auto row = row_at(all_reduce_of(8 * kGibibyte), 16, 187);
  const RunFacts run{.nodes = 2, .backend = "nccl", .library = "NCCL 2.28.3", .algorithm = "ring"};
  const auto measurements = measurements_of(row, run);
  ASSERT_THAT(measurements, SizeIs(2));
  EXPECT_THAT(measurements[0].value, DoubleNear(187, 1e-9));
  EXPECT_EQ(measurements[0].unit, "GB/s");
  EXPECT_EQ(measurements[0].conditions, (MeasurementConditions{.collective = "all_reduce",
                                                               .type = "f32",
                                                               .reduction = "sum",
                                                               .placement = "out_of_place",
                                                               .size_bytes = 8589934592,
                                                               .ranks = 16,
                                                               .nodes = 2,
                                                               .backend = "nccl",
                                                               .library = "NCCL 2.28.3",
                                                               .algorithm = "ring",
                                                               .iterations = 20}));
  EXPECT_EQ(measurements[1].conditions.placement, "in_place");
  EXPECT_EQ(measurements[0].wrong_elements, 0);
  EXPECT_THAT(measurements[0].iterations_us, SizeIs(20));
  EXPECT_EQ(measurements[0].statistics->median_low_us, measurements[0].statistics->median_us);
}

TEST(RowMeasurementsTest, IncludeTheCpuTime) {
  auto row = row_at(all_reduce_of(64), 2, 1);
  row.in_place->cpu = 3e-6;
  const auto measurements = measurements_of(row, {});
  ASSERT_THAT(measurements, SizeIs(3));
  EXPECT_EQ(measurements[2].quantity, "cpu_time");
  EXPECT_THAT(measurements[2].value, DoubleNear(3, 1e-9));
  EXPECT_EQ(measurements[2].unit, "us");
  EXPECT_EQ(measurements[2].conditions, measurements[1].conditions);
  EXPECT_EQ(measurements[2].statistics, std::nullopt);
}

TEST(RowMeasurementsTest, OmitPlacementsThatWereNotRun) {
  const Operation operation{.collective = Collective::all_gather, .bytes = 64};
  auto row = row_of(operation, 2);
  EXPECT_THAT(measurements_of(row, {}), IsEmpty());
  row.out_of_place = timing_at(operation, 2, {1});
  const auto measurements = measurements_of(row, {});
  ASSERT_THAT(measurements, SizeIs(1));
  EXPECT_EQ(measurements[0].conditions.reduction, "");
  EXPECT_EQ(measurements[0].statistics->median_low_us, std::nullopt);
}

}  // namespace
}  // namespace muster::bench
