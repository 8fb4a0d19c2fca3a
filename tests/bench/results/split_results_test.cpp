// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/results/bandwidth.hpp"
#include "tests/bench/results/sample_rows.hpp"

namespace muster::bench {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

std::vector<PartResult> rails(const std::vector<double>& gbps) {
  std::vector<PartResult> parts;
  for (std::size_t rail = 0; rail < gbps.size(); ++rail) {
    parts.push_back({.name = fmt::format("rail{}", rail),
                     .ranks = {static_cast<int>(rail), static_cast<int>(rail + gbps.size())},
                     .rows = {row_at(all_reduce_of(kGibibyte), 2, gbps[rail])}});
  }
  return parts;
}

TEST(SplitResultsTest, EqualPartsPass) {
  const auto findings = judge_split(rails({23.4, 23.3, 23.5, 23.4}), {});
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].outcome, Outcome::pass);
  EXPECT_EQ(findings[0].device, "job");
  EXPECT_EQ(findings[0].message, "4 parts of 2 ranks or more: 23.30 to 23.50 GB/s at 1 GiB");
}

TEST(SplitResultsTest, NamesThePartFarBelow) {
  const auto findings = judge_split(rails({23.4, 23.3, 11.7, 23.4}), {});
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].outcome, Outcome::fail);
  EXPECT_EQ(findings[0].device, "rail2");
  EXPECT_THAT(findings[0].message, HasSubstr("11.70 GB/s for all_reduce of 1 GiB, 50.1% of the "));
}

TEST(SplitResultsTest, SomewhatBelowWarns) {
  const auto findings = judge_split(rails({23.4, 23.4, 22.2, 23.4}), {});
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].outcome, Outcome::warn);
}

TEST(SplitResultsTest, FewPartsAreNotCompared) {
  const auto findings = judge_split(rails({23.4, 11.7}), {});
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].outcome, Outcome::unknown);
  EXPECT_THAT(findings[0].message, HasSubstr("2 parts are too few to compare"));
}

TEST(SplitResultsTest, ComparesEachPartWithMinBusbw) {
  const OwnLimit own{.min_busbw = BytesPerSecond{20e9}, .at = {}};
  const auto findings = judge_split(rails({23.4, 11.7}), own);
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].outcome, Outcome::fail);
  EXPECT_EQ(findings[0].device, "rail1");
  EXPECT_EQ(judge_split(rails({23.4, 21.7}), own)[0].outcome, Outcome::pass);
}

TEST(SplitResultsTest, TheTableMarksTheOutlier) {
  const auto text = split_table(rails({23.4, 23.3, 11.7, 23.4}), {});
  EXPECT_THAT(text, HasSubstr("# rail2                            11.70          50.1%  <\n"));
  EXPECT_THAT(text, Not(HasSubstr("100.0%  <")));
}

}  // namespace
}  // namespace muster::bench
