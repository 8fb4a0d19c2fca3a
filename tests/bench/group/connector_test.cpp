// SPDX-License-Identifier: Apache-2.0
#include "bench/group/connector.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/bench/group/harness.hpp"

namespace muster::bench {
namespace {

TEST(ReachabilityTest, AListenerAnswersUntilItIsGone) {
  auto listener = listen_anywhere();
  ASSERT_TRUE(listener);
  const bool alone = std::ranges::all_of(listener->addresses, is_loopback);
  if (alone) GTEST_SKIP() << "this machine has loopback alone";
  EXPECT_TRUE(answers(listener->addresses, kLong));
  listener->socket = Descriptor();
  EXPECT_FALSE(answers(listener->addresses, kLong)) << "refused, which takes no time";
}

TEST(ReachabilityTest, LoopbackIsThisNode) {
  const auto listener = listen_here();
  EXPECT_FALSE(answers({{.host = "127.0.0.1", .port = listener.addresses.front().port}}, kLong));
  EXPECT_FALSE(answers({}, kLong));
}

}  // namespace
}  // namespace muster::bench
