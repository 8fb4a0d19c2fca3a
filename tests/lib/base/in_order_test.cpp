// SPDX-License-Identifier: Apache-2.0
#include "lib/base/in_order.hpp"

#include <atomic>
#include <chrono>
#include <numeric>

#include "tests/support/matchers.hpp"

namespace muster {
namespace {

TEST(MakeInOrderTest, DeliversResultsInOrder) {
  std::vector<std::size_t> taken;
  make_in_order(
      200, 4,
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

TEST(MakeInOrderTest, StopsEarlyAndLimitsWaitingResults) {
  std::atomic<int> made = 0;
  std::vector<std::size_t> taken;
  make_in_order(
      10'000, 2,
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

TEST(MakeInOrderTest, AcceptsNoWork) {
  make_in_order(
      0, 4, [](std::size_t) { return 0; }, [](int) { return true; });
}

}  // namespace
}  // namespace muster
