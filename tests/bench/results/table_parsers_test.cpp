// SPDX-License-Identifier: Apache-2.0
// Reads the table as public scripts read that of nccl-tests: by word, by column from either end, by
// regular expression. One test for each.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <regex>
#include <string>
#include <vector>

#include "bench/results/table.hpp"
#include "lib/base/text.hpp"
#include "tests/bench/results/sample_rows.hpp"

namespace muster::bench {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

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

// awk '{print $NF}' on the line of the average.
TEST_F(TableParsersTest, LastWordOfTheAverage) {
  const auto all = lines();
  const auto line =
      std::ranges::find_if(all, [](auto each) { return each.starts_with("# Avg bus bandwidth"); });
  ASSERT_NE(line, all.end());
  EXPECT_EQ(split_words(*line).back(), "188.463");
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

TEST_F(TableParsersTest, TheAverageByRegularExpression) {
  for (const auto* pattern :
       {R"(Avg bus bandwidth\s+: ([0-9\.]+))", R"(# Avg bus bandwidth\s*:\s*([\d.]+))",
        R"(#\sAvg bus bandwidth\s+:\s+([0-9\.]+))", R"(Avg bus bandwidth\s*:\s*(\d+\.\d+))",
        R"(Avg bus bandwidth\s*:\s*(\d+(?:\.\d+)?))"}) {
    EXPECT_THAT(found(pattern, 1), ElementsAre("188.463")) << pattern;
  }
  // Some scripts cut the decimals.
  EXPECT_THAT(found(R"(# Avg bus bandwidth\s*:\s*(\d+))", 1), ElementsAre("188"));
}

TEST_F(TableParsersTest, OutOfBoundsByRegularExpression) {
  EXPECT_THAT(found(R"(Out of bounds values\s*:\s*(\d+)\s+(\w+))", 1), ElementsAre("0"));
  EXPECT_THAT(found(R"(Out of bounds values\s*:\s*(\d+)\s+(\w+))", 2), ElementsAre("OK"));
}

TEST_F(TableParsersTest, RanksByTheirDevices) {
  EXPECT_THAT(
      found(
          R"(#\s+Rank\s+(\d+)\s+Group\s+\d+\s+Pid\s+(\d+)\s+on\s+(\S+)\s+device\s+(\d+)\s+\[\S+\]\s+(.+))",
          3),
      SizeIs(16));
}

}  // namespace
}  // namespace muster::bench
