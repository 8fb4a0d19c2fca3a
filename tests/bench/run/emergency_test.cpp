// SPDX-License-Identifier: Apache-2.0
#include "bench/run/emergency.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "bench/run/time_limit.hpp"
#include "lib/report/report.hpp"

namespace muster::bench {
namespace {

using ::testing::ElementsAre;
using ::testing::ExitedWithCode;

Trouble lost(std::vector<int> ranks, bool without_rank_0 = false) {
  return {.kind = Trouble::Kind::lost,
          .phase = "all_reduce",
          .what = "somebody ended",
          .ranks = std::move(ranks),
          .without_rank_0 = without_rank_0};
}

TEST(EmergencyTest, Rank0ReportsAndRank1WhereThatIsGone) {
  EXPECT_TRUE(reports(lost({2}), 0));
  EXPECT_FALSE(reports(lost({2}), 1));
  EXPECT_FALSE(reports(lost({0}, true), 0));
  EXPECT_TRUE(reports(lost({0}, true), 1));
  EXPECT_FALSE(reports(lost({0}, true), 2));
  // Late by its own word: it is there, and reports.
  const Trouble late{.kind = Trouble::Kind::late, .ranks = {0}, .arrived = {1}};
  EXPECT_TRUE(reports(late, 0));
  EXPECT_FALSE(reports(late, 1));
}

class Voices {
 public:
  explicit Voices(Emergency& emergency) {
    emergency.report_through(
        {.report = [this](const Trouble& it) { said.push_back("report " + it.what); },
         .note = [this](const Trouble& it) { said.push_back("note " + it.what); }});
  }

  std::vector<std::string> said;
};

TEST(EmergencyTest, ReportsOnce) {
  Emergency emergency(0);
  const Voices voices(emergency);
  emergency.report(lost({1}));
  emergency.report(lost({2}));
  EXPECT_THAT(voices.said, ElementsAre("report somebody ended", "note somebody ended"));
}

TEST(EmergencyTest, NotesWhatComesAfterTheReport) {
  Emergency emergency(0);
  const Voices voices(emergency);
  {
    const auto held = emergency.hold();
    emergency.mark_reported();
  }
  emergency.report(lost({1}));
  EXPECT_THAT(voices.said, ElementsAre("note somebody ended"));
}

TEST(EmergencyTest, OthersNoteThatRank0IsGone) {
  Emergency emergency(2);
  const Voices voices(emergency);
  emergency.report(lost({1}));
  EXPECT_THAT(voices.said, ElementsAre());
  emergency.report(lost({0}, true));
  EXPECT_THAT(voices.said, ElementsAre("note somebody ended"));
}

// Prints what it reports, and ends.
[[noreturn]] void end_of(const Trouble& trouble) {
  Emergency emergency(0);
  emergency.report_through(
      {.report = [](const Trouble& it) { fmt::print(stderr, "{}\n", it.what); },
       .note = [](const Trouble& /*it*/) {}});
  emergency.end(trouble);
}

TEST(EmergencyDeathTest, EndsWithTheStatusOfItsKind) {
  EXPECT_EXIT(end_of(lost({1})), ExitedWithCode(kExitUnhealthy), "somebody ended");
  EXPECT_EXIT(end_of({.kind = Trouble::Kind::stopped, .what = "told to end"}),
              ExitedWithCode(kExitUndecided), "told to end");
  EXPECT_EXIT(end_of({.kind = Trouble::Kind::given_up,
                      .phase = {"start of nccl", Part::starting},
                      .what = "no library"}),
              ExitedWithCode(kExitUndecided), "no library");
  EXPECT_EXIT(
      end_of({.kind = Trouble::Kind::given_up, .phase = "all_reduce of 8 B", .what = "an error"}),
      ExitedWithCode(kExitUnhealthy), "an error");
}

TEST(EmergencyDeathTest, HasLastWordsUnlessNobodyReadsThem) {
  for (const bool hangs : {false, true}) {
    EXPECT_EXIT(
        {
          Emergency emergency(0, std::chrono::milliseconds(20));
          emergency.report_through(
              {.report = [](const Trouble& it) { fmt::print(stderr, "{}", it.what); },
               .note = [](const Trouble& /*it*/) {},
               .before_exit =
                   [hangs] {
                     fmt::print(stderr, ", and more\n");
                     if (hangs) std::this_thread::sleep_for(std::chrono::hours(1));
                   }});
          emergency.end(lost({1}));
        },
        ExitedWithCode(kExitUnhealthy), "somebody ended, and more");
  }
}

// The main thread hangs, and holds what it must not.
TEST(EmergencyDeathTest, EndsWhileTheMainThreadHangs) {
  EXPECT_EXIT(
      {
        Emergency emergency(0, std::chrono::milliseconds(20));
        emergency.report_through(
            {.report = [](const Trouble& it) { fmt::print(stderr, "{}\n", it.what); },
             .note = [](const Trouble& /*it*/) {}});
        const auto held = emergency.hold();
        std::thread([&] { emergency.end(lost({1})); }).join();
      },
      ExitedWithCode(kExitUnhealthy), "somebody ended");
}

TEST(TimeLimitDeathTest, EndsWhatTakesTooLong) {
  EXPECT_EXIT(
      {
        Emergency emergency(0);
        emergency.report_through(
            {.report =
                 [](const Trouble& it) { fmt::print(stderr, "{}: {}\n", it.phase.name, it.what); },
             .note = [](const Trouble& /*it*/) {}});
        const TimeLimit limit(emergency, 0, {"start of MPI", Part::meeting},
                              std::chrono::milliseconds(20));
        for (;;) std::this_thread::sleep_for(std::chrono::seconds(1));
      },
      ExitedWithCode(kExitUndecided),
      "start of MPI: it takes longer than 0.02 s; another rank may not have come to it");
}

TEST(TimeLimitDeathTest, Rank1ReportsWhereRank0DoesNot) {
  EXPECT_EXIT(
      {
        Emergency emergency(1);
        emergency.report_through(
            {.report = [](const Trouble& it) { fmt::print(stderr, "report: {}\n", it.what); },
             .note = [](const Trouble& /*it*/) {}});
        const TimeLimit limit(emergency, 1, {"start of MPI", Part::meeting},
                              std::chrono::milliseconds(20));
        for (;;) std::this_thread::sleep_for(std::chrono::seconds(1));
      },
      ExitedWithCode(kExitUndecided),
      "report: it takes longer than 0.02 s; rank 0, which says nothing, may not have come to it");
}

TEST(TimeLimitTest, LeavesAloneWhatIsInTime) {
  Emergency emergency(0);
  const TimeLimit limit(emergency, 0, "start of MPI", Clock::duration::max());
}

}  // namespace
}  // namespace muster::bench
