// SPDX-License-Identifier: Apache-2.0
#include "lib/command/supervise.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <string>

namespace muster {
namespace {

using std::chrono::milliseconds;

struct Ended {
  int status = 0;
  std::string note;
  Clock::duration took{};
};

Ended supervised(Clock::duration allowed, const std::function<int(Deadline&)>& work) {
  Ended ended;
  const auto began = Clock::now();
  ended.status =
      supervise(began, began + allowed, work, [&](std::string_view line) { ended.note = line; });
  ended.took = Clock::now() - began;
  return ended;
}

int hang() {
  for (;;) ::pause();
}

TEST(SuperviseTest, ReturnsTheStatusOfTheWork) {
  const auto ended = supervised(std::chrono::seconds(10), [](Deadline&) { return 64; });
  EXPECT_EQ(ended.status, 64);
  EXPECT_EQ(ended.note, "");
}

TEST(SuperviseTest, GivesUpAtTheDeadlineAndSaysSo) {
  const auto ended = supervised(milliseconds(60), [](Deadline&) { return hang(); });
  EXPECT_EQ(ended.status, 2);
  EXPECT_EQ(ended.note, "muster: no report within 60 ms; given up");
  EXPECT_LT(ended.took, std::chrono::seconds(5));
}

TEST(SuperviseTest, SaysASmallDeadlineInItsOwnUnit) {
  EXPECT_EQ(supervised(milliseconds(1), [](Deadline&) { return hang(); }).note,
            "muster: no report within 1 ms; given up");
  EXPECT_EQ(supervised(milliseconds(1250), [](Deadline&) { return hang(); }).note,
            "muster: no report within 1.25 s; given up");
}

TEST(SuperviseTest, ACrashIsUndecided) {
  const auto ended = supervised(std::chrono::seconds(10), [](Deadline&) {
    ::kill(::getpid(), SIGKILL);
    return 0;
  });
  EXPECT_EQ(ended.status, 2);
  EXPECT_EQ(ended.note, "muster: internal error: killed by signal 9");
}

TEST(SuperviseTest, TheWorkMayTakeMoreTimeOnceItKnowsThatItMay) {
  const auto ended = supervised(milliseconds(100), [](Deadline& deadline) {
    deadline.move(Clock::now() + std::chrono::seconds(10));
    ::usleep(200'000);
    return 0;
  });
  EXPECT_EQ(ended.status, 0);
}

}  // namespace
}  // namespace muster
