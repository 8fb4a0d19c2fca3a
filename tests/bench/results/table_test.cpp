// SPDX-License-Identifier: Apache-2.0
#include "bench/results/table.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/base/text.hpp"
#include "tests/bench/results/sample_rows.hpp"

namespace muster::bench {
namespace {

using ::testing::HasSubstr;

TEST(TableNumberTest, HasAsManyDecimalsAsFit) {
  EXPECT_EQ(table_number(5.631, 7), "5.63");
  EXPECT_EQ(table_number(0.001, 7), "0.00");
  EXPECT_EQ(table_number(1537.62, 7), "1537.62");
  EXPECT_EQ(table_number(27211.04, 7), "27211.0");
  EXPECT_EQ(table_number(99999.96, 7), "100000");
  EXPECT_EQ(table_number(278945.2, 7), "278945");
  EXPECT_EQ(table_number(101.142, 6), "101.14");
  EXPECT_EQ(table_number(1575.26, 6), "1575.3");
}

TEST(TableNumberTest, IsWiderRatherThanWithAnExponent) {
  EXPECT_EQ(table_number(12345678.9, 7), "12345679");
}

TEST(TableTest, ARowHasTheColumnsOfNcclTests) {
  auto row = row_at(all_reduce_of(8 * kGibibyte), 16, 187);
  row.in_place = timing_at(row.operation, 16, {184.9});
  EXPECT_EQ(table_row(row),
            "  8589934592    2147483648     float     sum      -1  86129.0   99.73  187.00       0"
            "  87107.2   98.61  184.90       0\n");
}

TEST(TableTest, PlacementsThatWereNotRunOrCheckedHaveNoNumber) {
  auto operation = all_reduce_of(4096);
  operation.collective = Collective::broadcast;
  operation.type = Type::bf16;
  operation.root = 3;
  auto row = row_of(operation, 4);
  row.out_of_place = timing_at(operation, 4, {0.5});
  row.out_of_place->checked = false;
  EXPECT_EQ(table_row(row),
            "        4096          2048  bfloat16    none       3     8.19    0.50    0.50     N/A"
            "      N/A     N/A     N/A     N/A\n");
}

TEST(TableTest, CpuTimeReplacesOnlyTheTime) {
  auto row = row_at(all_reduce_of(8 * kGibibyte), 16, 187);
  row.out_of_place->cpu = 12.5e-6;
  EXPECT_EQ(table_row(row, true),
            "  8589934592    2147483648     float     sum      -1    12.50   99.73  187.00       0"
            "      N/A   99.73  187.00       0\n");
  EXPECT_THAT(table_header({.pace = {.cpu_time = true}}), HasSubstr("  cputime   algbw"));
}

TEST(TableTest, ARowCountsWrongElementsOverRanks) {
  auto row = row_at(all_reduce_of(64), 2, 1);
  row.in_place->wrong = {{.rank = 0, .elements = 3}, {.rank = 1, .elements = 4}};
  EXPECT_THAT(split_words(table_row(row)).back(), "7");
}

TEST(TableTest, TheHeaderListsTheRanks) {
  const auto header =
      table_header({.library = "NCCL 2.28.3",
                    .min_bytes = 8,
                    .max_bytes = 1024,
                    .factor = 2,
                    .members = {
                        {0, "gpu-0007", 123, "NVIDIA A100-SXM4-40GB", "gpu3", "0004:00:00.0"},
                        {1, "cpu-1", 99, "host memory", "host", ""},
                    }});
  EXPECT_EQ(header,
            R"(# muster-bench all_reduce, NCCL 2.28.3
# nThread 1 nGpus 1 minBytes 8 maxBytes 1024 step: 2(factor) warmup iters: 5 iters: 20 agg iters: 1 validation: 1 graph: 0
#
# Using devices
#  Rank  0 Group  0 Pid    123 on   gpu-0007 device  3 [0004:00:00] NVIDIA A100-SXM4-40GB
#  Rank  1 Group  0 Pid     99 on      cpu-1 device  0 [host] host memory
#
# Each operation is waited for; nccl-tests starts them back to back (--pipelined)
#
#                                                              out-of-place                       in-place
#       size         count      type   redop    root     time   algbw   busbw  #wrong     time   algbw   busbw  #wrong
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)             (us)  (GB/s)  (GB/s)
)");
}

TEST(TableTest, EveryLineButTheRowsIsAComment) {
  const auto header = table_header({.library = "a\nb", .factor = 0, .members = {{.host = "c\nd"}}});
  for (const auto line : split_lines(header)) EXPECT_TRUE(line.starts_with('#')) << line;
  EXPECT_THAT(header, HasSubstr("step: 0(list)"));
}

TEST(TableTest, TheFooterAveragesSizesAndPlacements) {
  TableTotals totals;
  totals.add(row_at(all_reduce_of(1024), 4, 100));
  auto half = row_at(all_reduce_of(2048), 4, 50);
  half.in_place.reset();
  totals.add(half);
  EXPECT_EQ(table_footer(totals),
            "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 83.3333\n#\n");
}

TEST(TableTest, TheFooterCountsRanksWithWrongData) {
  TableTotals totals;
  auto row = row_at(all_reduce_of(1024), 4, 100);
  row.in_place->wrong = {{.rank = 0, .elements = 3}, {.rank = 1, .elements = 4}};
  totals.add(row);
  EXPECT_EQ(table_footer(totals),
            "# Out of bounds values : 2 FAILED\n# Avg bus bandwidth    : 100.0\n#\n");
}

TEST(TableTest, TheFooterCountsUncheckedResults) {
  TableTotals totals;
  auto row = row_at(all_reduce_of(1024), 4, 1e-5);
  row.in_place->checked = false;
  totals.add(row);
  EXPECT_EQ(table_footer(totals),
            "# 1 of 2 results were not checked\n# Out of bounds values : 0 OK\n"
            "# Avg bus bandwidth    : 0.000010\n#\n");
  EXPECT_EQ(table_footer({}),
            "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 0.000000\n#\n");
}

}  // namespace
}  // namespace muster::bench
