// SPDX-License-Identifier: Apache-2.0
#include "lib/base/outcome.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <optional>

namespace muster {
namespace {

constexpr std::array kOutcomes{Outcome::pass, Outcome::warn, Outcome::fail, Outcome::unknown,
                               Outcome::skip};
constexpr std::array kRemedies{Remedy::none,
                               Remedy::watch,
                               Remedy::restart_app,
                               Remedy::reset_gpu,
                               Remedy::restart_service,
                               Remedy::reboot,
                               Remedy::reseat_or_replace,
                               Remedy::fix_config,
                               Remedy::report_to_provider};

TEST(OutcomeTest, RoundTripsThroughItsWord) {
  for (const auto outcome : kOutcomes) EXPECT_EQ(parse_outcome(to_string(outcome)), outcome);
  EXPECT_EQ(parse_outcome("PASS"), std::nullopt);
}

TEST(RemedyTest, RoundTripsThroughItsWord) {
  for (const auto remedy : kRemedies) EXPECT_EQ(parse_remedy(to_string(remedy)), remedy);
  EXPECT_EQ(parse_remedy(""), std::nullopt);
}

TEST(RemedyTest, HasADescriptionUnlessNone) {
  EXPECT_EQ(describe(Remedy::none), "");
  EXPECT_EQ(describe(Remedy::reset_gpu), "reset the GPU");
  EXPECT_EQ(std::ranges::count(kRemedies, "", describe), 1);
}

}  // namespace
}  // namespace muster
