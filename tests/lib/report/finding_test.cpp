// SPDX-License-Identifier: Apache-2.0
#include "lib/report/finding.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "lib/report/report.hpp"

namespace muster {
namespace {

using ::testing::ElementsAre;

TEST(OutcomeTest, RanksFailThenUnknownThenWarnThenPassThenSkip) {
  std::vector<std::string_view> words;
  std::array outcomes{Outcome::pass, Outcome::warn, Outcome::fail, Outcome::unknown, Outcome::skip};
  words.reserve(outcomes.size());
  std::ranges::sort(outcomes, {}, rank);
  for (const auto outcome : outcomes) words.push_back(to_string(outcome));
  EXPECT_THAT(words, ElementsAre("fail", "unknown", "warn", "pass", "skip"));
}

TEST(VerdictTest, DecidesTheExitStatus) {
  EXPECT_EQ(exit_status(Verdict::healthy), 0);
  EXPECT_EQ(exit_status(Verdict::unhealthy), 1);
  EXPECT_EQ(exit_status(Verdict::unknown), 2);
}

TEST(FindingTest, APassWithARemedyIsNoPlainOne) {
  EXPECT_TRUE(is_plain_pass({.outcome = Outcome::pass, .observed = std::int64_t{8}}));
  EXPECT_FALSE(is_plain_pass({.outcome = Outcome::pass, .remedy = Remedy::restart_app}));
  EXPECT_FALSE(is_plain_pass({.outcome = Outcome::warn}));
}

}  // namespace
}  // namespace muster
