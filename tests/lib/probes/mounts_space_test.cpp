// SPDX-License-Identifier: Apache-2.0
#include "lib/probes/mounts_space.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>

#include "lib/base/clock.hpp"

namespace muster {

// For messages of failed tests.
static void PrintTo(const SpaceAnswer& answer, std::ostream* out) {
  *out << (answer.hung ? "hung: " : "");
  if (answer.space) {
    *out << answer.space->available_bytes << " bytes available";
  } else {
    *out << answer.space.why();
  }
}

namespace {

using ::testing::ElementsAre;
using std::chrono_literals::operator""ms;  // NOLINT(misc-unused-using-decls)
using std::chrono_literals::operator""s;   // NOLINT(misc-unused-using-decls)

const Space kSpace{
    .total_bytes = 5, .available_bytes = 4, .used_bytes = 3, .inodes_total = 2, .inodes_free = 1};

// Answers by the first letter of the point: h hangs, c crashes, m is missing, f fails, s is slow.
Result<Space> ask(const std::string& point) {
  switch (point.front()) {
    case 'h':
      for (;;) ::pause();
    case 'c':
      ::_exit(3);
    case 'm':
      return make_missing("no such place");
    case 'f':
      return make_error("statfs: two\nlines");
    case 's':
      ::usleep(300'000);
      return kSpace;
    default:
      return kSpace;
  }
}

SpaceAnswer hung(std::string_view why) {
  return {.hung = true, .space = Fact<Space>::unreadable(std::string(why))};
}

TEST(MountSpaceTest, AnswersForEveryPointInOrder) {
  EXPECT_THAT(ask_spaces({"a", "m", "f"}, 20s, ask),
              ElementsAre(SpaceAnswer{.space = kSpace},
                          SpaceAnswer{.space = Fact<Space>::absent("no such place")},
                          SpaceAnswer{.space = Fact<Space>::unreadable("statfs: two\\x0alines")}));
}

TEST(MountSpaceTest, AcceptsNoPoints) { EXPECT_TRUE(ask_spaces({}, 20s, ask).empty()); }

TEST(MountSpaceTest, OnlyThePointThatDoesNotAnswerHangs) {
  EXPECT_THAT(ask_spaces({"a", "h", "b"}, 2s, ask),
              ElementsAre(SpaceAnswer{.space = kSpace}, hung("statfs: no answer within 2 s"),
                          SpaceAnswer{.space = kSpace}));
}

TEST(MountSpaceTest, PointsThatAreSlowTogetherDoNotHang) {
  EXPECT_THAT(ask_spaces({"s", "s", "s", "s", "s", "s"}, 1500ms, ask),
              ::testing::Each(SpaceAnswer{.space = kSpace}));
}

TEST(MountSpaceTest, TakesTwoDeadlinesIfManyPointsHang) {
  const std::vector<std::string> points(40, "h");
  const auto start = Clock::now();
  const auto answers = ask_spaces(points, 300ms, ask);
  EXPECT_LT(Clock::now() - start, 40 * 300ms);
  EXPECT_THAT(answers, ::testing::Each(hung("statfs: no answer within 0.3 s")));
}

TEST(MountSpaceTest, LosesOnlyThePointWhoseChildDies) {
  EXPECT_THAT(ask_spaces({"a", "c"}, 20s, ask),
              ElementsAre(SpaceAnswer{.space = kSpace},
                          SpaceAnswer{.space = Fact<Space>::unreadable(
                                          "statfs: ended with status 3 and no answer")}));
}

TEST(MountSpaceTest, PointsThatWereNotReachedInTimeAreUnreadable) {
  const std::vector<std::string> points(300, "h");
  const auto answers = ask_spaces(points, 60ms, ask);
  ASSERT_EQ(answers.size(), 300U);
  EXPECT_TRUE(answers[255].hung);
  EXPECT_EQ(answers[256], SpaceAnswer{.space = Fact<Space>::unreadable(
                                          "not asked: too many other mounts did not answer")});
}

}  // namespace
}  // namespace muster
