// SPDX-License-Identifier: Apache-2.0
#include "lib/report/finding.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "lib/report/report.hpp"

namespace muster {
namespace {

using ::testing::ElementsAre;

constexpr std::array kOutcomes{
    Outcome::pass, Outcome::warn, Outcome::fail, Outcome::unknown, Outcome::skip};
constexpr std::array kRemedies{Remedy::none,
                               Remedy::watch,
                               Remedy::restart_app,
                               Remedy::reset_gpu,
                               Remedy::restart_service,
                               Remedy::reboot,
                               Remedy::reseat_or_replace,
                               Remedy::fix_config,
                               Remedy::report_to_provider};

TEST(OutcomeTest, RanksFailThenUnknownThenWarnThenPassThenSkip) {
  std::vector<std::string_view> words;
  words.reserve(kOutcomes.size());
  auto outcomes = kOutcomes;
  std::ranges::sort(outcomes, {}, rank);
  for (const auto outcome : outcomes) words.push_back(to_string(outcome));
  EXPECT_THAT(words, ElementsAre("fail", "unknown", "warn", "pass", "skip"));
}

TEST(OutcomeTest, IsReadBackFromItsWord) {
  for (const auto outcome : kOutcomes) EXPECT_EQ(parse_outcome(to_string(outcome)), outcome);
  EXPECT_EQ(parse_outcome("PASS"), std::nullopt);
}

TEST(RemedyTest, IsReadBackFromItsWord) {
  for (const auto remedy : kRemedies) EXPECT_EQ(parse_remedy(to_string(remedy)), remedy);
  EXPECT_EQ(parse_remedy(""), std::nullopt);
}

TEST(RemedyTest, HasWordsForPeopleUnlessThereIsNothingToDo) {
  EXPECT_EQ(describe(Remedy::none), "");
  EXPECT_EQ(describe(Remedy::reset_gpu), "reset the GPU");
  EXPECT_EQ(std::ranges::count(kRemedies, "", describe), 1);
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
