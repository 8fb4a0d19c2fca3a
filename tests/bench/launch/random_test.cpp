// SPDX-License-Identifier: Apache-2.0
#include "bench/launch/random.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace muster::bench {
namespace {

TEST(RandomTest, SecretsAreHexadecimalAndDiffer) {
  const auto first = random_secret();
  const auto second = random_secret();
  ASSERT_TRUE(first && second);
  EXPECT_THAT(*first, ::testing::MatchesRegex("[0-9a-f]{64}"));
  EXPECT_NE(*first, *second);
}

TEST(RandomTest, DrawsAsManyBytesAsAsked) { EXPECT_EQ(random_bytes(7)->size(), 7U); }

}  // namespace
}  // namespace muster::bench
