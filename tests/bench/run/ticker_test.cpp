// SPDX-License-Identifier: Apache-2.0
#include "bench/run/ticker.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <string>

namespace muster::bench {
namespace {

using namespace std::chrono_literals;

TEST(ProgressLineTest, SaysWhatRunsHowFarItIsAndHowLongStill) {
  OperationProgress going{.what = "all_reduce of 8 GiB", .all = 25};
  EXPECT_EQ(progress_line(going), "all_reduce of 8 GiB");  // verified, or warming up
  going.done = 10;
  going.since = 20s;
  EXPECT_EQ(progress_line(going),
            "all_reduce of 8 GiB: 10 of 25 iterations; about 30 s of it left");
  going.left = "; about 2 min left";
  EXPECT_EQ(progress_line(going), "all_reduce of 8 GiB: 10 of 25 iterations; about 2 min left");
  going.done = 25;
  EXPECT_EQ(progress_line(going), "all_reduce of 8 GiB; about 2 min left");
}

TEST(ProgressLineTest, SaysWhoIsWaitedFor) {
  EXPECT_EQ(progress_line({.what = "all_reduce of 8 GiB",
                           .left = "",
                           .done = 25,
                           .all = 25,
                           .since = 20s,
                           .awaited = {3, 5, 6, 7}}),
            "all_reduce of 8 GiB; waiting for ranks 3,5-7");
}

TEST(TickerTest, ShowsALineAtOnceAndAnewUntilItEnds) {
  std::vector<std::string> shown;
  std::promise<void> twice;
  {
    const Ticker ticker([&](Clock::duration since) { return since > 0s ? "later" : "begin"; },
                        [&](std::string_view line) {
                          shown.emplace_back(line);
                          if (shown.size() == 2) twice.set_value();
                        });
    EXPECT_EQ(twice.get_future().wait_for(60s), std::future_status::ready);
  }
  EXPECT_EQ(shown.at(0), "begin");
  EXPECT_EQ(shown.at(1), "later");
}

}  // namespace
}  // namespace muster::bench
