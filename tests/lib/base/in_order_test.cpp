// SPDX-License-Identifier: Apache-2.0
#include "lib/base/in_order.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <numeric>

namespace muster {
namespace {

using ::testing::ElementsAre;

TEST(InOrderTest, DeliversResultsInOrder) {
  std::vector<std::size_t> taken;
  InOrder<std::size_t>(200, 4).run(
      [](std::size_t index) {
        if (index % 7 == 0) std::this_thread::sleep_for(std::chrono::microseconds(200));
        return index;
      },
      [&](std::size_t index) {
        taken.push_back(index);
        return true;
      });
  std::vector<std::size_t> expected(200);
  std::iota(expected.begin(), expected.end(), std::size_t{0});
  EXPECT_EQ(taken, expected);
}

TEST(InOrderTest, LimitsWaitingResults) {
  std::atomic<int> held = 0;
  int most = 0;
  InOrder<int>(100, 2).run(
      [&](std::size_t) {
        ++held;
        return 0;
      },
      [&](int) {
        std::this_thread::sleep_for(std::chrono::microseconds(300));
        most = std::max(most, held.load());
        --held;
        return true;
      });
  EXPECT_LE(most, 2 * 4 + 2 + 1);  // the window, and what is being made or taken
}

TEST(InOrderTest, StopsWhenTheCallerStops) {
  std::atomic<int> made = 0;
  std::vector<std::size_t> taken;
  InOrder<std::size_t>(10'000, 2).run(
      [&](std::size_t index) {
        ++made;
        return index;
      },
      [&](std::size_t index) {
        taken.push_back(index);
        return index < 2;
      });
  EXPECT_THAT(taken, ElementsAre(0, 1, 2));
  EXPECT_LT(made, 100);
}

TEST(InOrderTest, AcceptsNoWork) {
  InOrder<int>(0, 4).run([](std::size_t) { return 0; }, [](int) { return true; });
}

}  // namespace
}  // namespace muster
