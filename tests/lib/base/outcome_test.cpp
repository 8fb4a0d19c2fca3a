// SPDX-License-Identifier: Apache-2.0
#include "lib/base/outcome.hpp"

#include <gtest/gtest.h>

#include <optional>

namespace muster {
namespace {

TEST(OutcomeTest, HasAWord) {
  EXPECT_EQ(to_string(Outcome::skip), "skip");
  EXPECT_EQ(parse_word<Outcome>("skip"), Outcome::skip);
  EXPECT_EQ(parse_word<Outcome>("PASS"), std::nullopt);
}

TEST(RemedyTest, HasAWordAndADescription) {
  EXPECT_EQ(to_string(Remedy::report_to_provider), "report_to_provider");
  EXPECT_EQ(parse_word<Remedy>("report_to_provider"), Remedy::report_to_provider);
  EXPECT_EQ(parse_word<Remedy>(""), std::nullopt);
  EXPECT_EQ(describe(Remedy::none), "");
  EXPECT_EQ(describe(Remedy::reset_gpu), "reset the GPU");
}

}  // namespace
}  // namespace muster
