// SPDX-License-Identifier: Apache-2.0
// Reads the table as public scripts read that of nccl-tests: by word, by column from either end, by
// regular expression. One test for each.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <regex>
#include <string>
#include <vector>

#include "bench/results/row.hpp"
#include "lib/base/text.hpp"
#include "tests/bench/results/sample_rows.hpp"
#include "tests/support/matchers.hpp"

namespace muster::bench {
namespace {

TEST(TableNumberTest, HasAsManyDecimalsAsFit) {
  EXPECT_EQ(table_number(5.631, 7), "5.63");
  EXPECT_EQ(table_number(0.001, 7), "0.00");
  EXPECT_EQ(table_number(1537.62, 7), "1537.62");
  EXPECT_EQ(table_number(27211.04, 7), "27211.0");
  EXPECT_EQ(table_number(99999.96, 7), "100000");
  EXPECT_EQ(table_number(278945.2, 7), "278945");
  EXPECT_EQ(table_number(101.142, 6), "101.14");
  EXPECT_EQ(table_number(1575.26, 6), "1575.3");
  EXPECT_EQ(table_number(12345678.9, 7), "12345679");  // wider rather than with an exponent
}

TEST(TableTest, ARowHasTheColumnsOfNcclTests) {
  auto row = row_at(all_reduce_of(8 * kGibibyte), 16, 187);
  row.in_place = timing_at(row.operation, 16, {184.9});
  EXPECT_EQ(table_row(row),
            "  8589934592    2147483648     float     sum      -1  86129.0   99.73  187.00       0"
            "  87107.2   98.61  184.90       0\n");
}

TEST(TableTest, APlacementThatWasNotRunHasNoNumber) {
  auto operation = all_reduce_of(4096);
  operation.collective = Collective::broadcast;
  operation.type = Type::bf16;
  operation.root = 3;
  auto row = row_of(operation, 4);
  row.out_of_place = timing_at(operation, 4, {0.5});
  EXPECT_EQ(table_row(row),
            "        4096          2048  bfloat16    none       3     8.19    0.50    0.50       0"
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
# Blocking mode; nccl-tests pipelines (--pipelined)
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
  EXPECT_THAT(table_header({.factor = 2, .step = 1 << 30}), HasSubstr("step: 1073741824(bytes)"));
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

TEST(TableTest, TheFooterHasNoExponent) {
  TableTotals totals;
  totals.add(row_at(all_reduce_of(1024), 4, 1e-5));
  EXPECT_EQ(table_footer(totals),
            "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 0.000010\n#\n");
  EXPECT_EQ(table_footer({}),
            "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 0.000000\n#\n");
}

using Lines = std::vector<std::string_view>;

class TableParsersTest : public ::testing::Test {
 protected:
  TableParsersTest() {
    TableHead head{.library = "NCCL 2.28.3",
                   .min_bytes = 2 * kGibibyte,
                   .max_bytes = 8 * kGibibyte,
                   .factor = 2};
    for (int rank = 0; rank < 16; ++rank) {
      head.members.push_back({rank, "gpu-0007", 100, "NVIDIA A100-SXM4-40GB", "gpu1", ""});
    }
    TableTotals totals;
    text = table_header(head);
    const auto add = [&](std::uint64_t bytes, double gbps) {
      const auto row = row_at(all_reduce_of(bytes), 16, gbps);
      totals.add(row);
      text += table_row(row);
    };
    add(2 * kGibibyte, 187.33);
    add(4 * kGibibyte, 188.42);
    add(8 * kGibibyte, 189.64);
    text += table_footer(totals);
  }

  [[nodiscard]] Lines lines() const { return split_lines(text); }

  // The first group of every match.
  [[nodiscard]] std::vector<std::string> found(const std::string& pattern,
                                               std::size_t group) const {
    const std::regex regex(pattern, std::regex::multiline);
    std::vector<std::string> groups;
    for (std::sregex_iterator at(text.begin(), text.end(), regex); at != std::sregex_iterator();
         ++at) {
      groups.push_back((*at)[group]);
    }
    return groups;
  }

  std::string text;
};

// A shell's health check: a line with FAILED is a fault, and the sixth word of the first line with
// "bandwidth" is the result.
TEST_F(TableParsersTest, SixthWordOfTheFirstLineThatNamesBandwidth) {
  std::optional<std::string_view> result;
  for (const auto line : lines()) {
    EXPECT_EQ(line.find("FAILED"), std::string_view::npos);
    if (!result && line.find("bandwidth") != std::string_view::npos) result = split_words(line)[5];
  }
  EXPECT_EQ(result, "188.463");
}

// grep '8589934592.*float' | awk '{print $8}'
TEST_F(TableParsersTest, EighthColumnOfTheLineWithTheSize) {
  const std::regex wanted("8589934592.*float");
  std::vector<std::string> results;
  for (const auto line : lines()) {
    if (!std::regex_search(line.begin(), line.end(), wanted)) continue;
    results.emplace_back(split_words(line)[7]);
  }
  EXPECT_THAT(results, ElementsAre("189.64"));
}

// A benchmark suite: rows begin a fixed number of lines after the placements, and the bus bandwidth
// is the sixth word from the end of lines with more than ten.
TEST_F(TableParsersTest, SixthWordFromTheEndBelowThePlacements) {
  const auto all = lines();
  const auto head = std::ranges::find_if(
      all, [](auto each) { return each.find("out-of-place") != std::string_view::npos; });
  const auto foot = std::ranges::find_if(
      all, [](auto each) { return each.find("Out of bounds values") != std::string_view::npos; });
  ASSERT_EQ(foot - head, 6);
  std::vector<std::string> results;
  for (auto line = head + 3; line != foot; ++line) {
    const auto words = split_words(*line);
    ASSERT_THAT(words, SizeIs(13));
    results.emplace_back(words[words.size() - 6]);
  }
  EXPECT_THAT(results, ElementsAre("187.33", "188.42", "189.64"));
}

// Columns are found by their names in the header. The second one of each name is in place.
TEST_F(TableParsersTest, ColumnsByTheNamesOfTheHeader) {
  const auto all = lines();
  const auto head = std::ranges::find_if(all, [](auto each) {
    return each.find("size") != std::string_view::npos &&
           each.find("busbw") != std::string_view::npos;
  });
  ASSERT_NE(head, all.end());
  const auto names = split_words(head->substr(1));
  ASSERT_THAT(names, SizeIs(13));
  EXPECT_EQ(names[7], "busbw");
  EXPECT_EQ(names[11], "busbw");
  EXPECT_EQ(names[12], "#wrong");
}

TEST_F(TableParsersTest, TheFooterByRegularExpression) {
  for (const auto* pattern :
       {R"(Avg bus bandwidth\s+: ([0-9\.]+))", R"(# Avg bus bandwidth\s*:\s*([\d.]+))",
        R"(#\sAvg bus bandwidth\s+:\s+([0-9\.]+))", R"(Avg bus bandwidth\s*:\s*(\d+\.\d+))",
        R"(^# Avg bus bandwidth.* (\S+)$)", R"(Avg bus bandwidth\s*:\s*(\d+(?:\.\d+)?))"}) {
    EXPECT_THAT(found(pattern, 1), ElementsAre("188.463")) << pattern;
  }
  // Some scripts cut the decimals.
  EXPECT_THAT(found(R"(# Avg bus bandwidth\s*:\s*(\d+))", 1), ElementsAre("188"));
  EXPECT_THAT(found(R"(Out of bounds values\s*:\s*(\d+\s+\w+))", 1), ElementsAre("0 OK"));
  EXPECT_THAT(
      found(R"(#\s+Rank\s+\d+\s+Group\s+\d+\s+Pid\s+\d+\s+on\s+(\S+)\s+device\s+\d+\s+\[)", 1),
      SizeIs(16));
}

TEST_F(TableParsersTest, OneDataRowByRegularExpression) {
  const std::string number = R"(([\d.]+))";
  const auto row = fmt::format(
      R"(^\s*(\d+)\s+(\d+)\s+(\w+)\s+(\w+)\s+(-?\d+)\s+{0}\s+{0}\s+{0}\s+(\S+)\s+{0}\s+{0}\s+{0}\s+(\S+))",
      number);
  EXPECT_THAT(found(row, 1), ElementsAre("2147483648", "4294967296", "8589934592"));
  EXPECT_THAT(found(row, 8), ElementsAre("187.33", "188.42", "189.64"));
  EXPECT_THAT(found(row, 12), ElementsAre("187.33", "188.42", "189.64"));
  EXPECT_THAT(found(row, 13), ElementsAre("0", "0", "0"));
}

}  // namespace
}  // namespace muster::bench
