// SPDX-License-Identifier: Apache-2.0
#include "bench/run/watching.hpp"

#include <fmt/format.h>

#include <future>
#include <string>
#include <thread>

#include "lib/report/report.hpp"
#include "tests/support/matchers.hpp"

namespace muster::bench {
namespace {

using namespace std::chrono_literals;
using ::testing::ExitedWithCode;

Trouble lost(std::vector<int> ranks, bool without_rank_0 = false) {
  return {.kind = Trouble::Kind::lost,
          .phase = "all_reduce",
          .what = "rank ended",
          .ranks = std::move(ranks),
          .without_rank_0 = without_rank_0};
}

TEST(EmergencyTest, Rank0ReportsOrRank1IfThatIsGone) {
  EXPECT_TRUE(reports(lost({2}), 0));
  EXPECT_FALSE(reports(lost({2}), 1));
  EXPECT_FALSE(reports(lost({0}, true), 0));
  EXPECT_TRUE(reports(lost({0}, true), 1));
  EXPECT_FALSE(reports(lost({0}, true), 2));
  // It reports its own lateness, so it is alive.
  const Trouble late{.kind = Trouble::Kind::late, .ranks = {0}, .arrived = {1}};
  EXPECT_TRUE(reports(late, 0));
  EXPECT_FALSE(reports(late, 1));
}

class Lines {
 public:
  explicit Lines(Emergency& emergency) {
    emergency.report_through(
        {.report = [this](const Trouble& it) { printed.push_back("report " + it.what); },
         .note = [this](const Trouble& it) { printed.push_back("note " + it.what); }});
  }

  std::vector<std::string> printed;
};

TEST(EmergencyTest, ReportsOnce) {
  Emergency emergency(0);
  const Lines lines(emergency);
  emergency.report(lost({1}));
  emergency.report(lost({2}));
  EXPECT_THAT(lines.printed, ElementsAre("report rank ended", "note rank ended"));
}

TEST(EmergencyTest, NotesTroubleAfterTheReport) {
  Emergency emergency(0);
  const Lines lines(emergency);
  {
    const auto held = emergency.hold();
    emergency.mark_reported();
  }
  emergency.report(lost({1}));
  EXPECT_THAT(lines.printed, ElementsAre("note rank ended"));
}

TEST(EmergencyTest, OthersNoteThatRank0IsGone) {
  Emergency emergency(2);
  const Lines lines(emergency);
  emergency.report(lost({1}));
  EXPECT_THAT(lines.printed, ElementsAre());
  emergency.report(lost({0}, true));
  EXPECT_THAT(lines.printed, ElementsAre("note rank ended"));
}

// Prints a report as "report: PHASE: WHAT".
TroubleReporter to_stderr(std::function<void()> before_exit = nullptr) {
  return {
      .report =
          [](const Trouble& it) { fmt::print(stderr, "report: {}: {}\n", it.phase.name, it.what); },
      .note = [](const Trouble& /*it*/) {},
      .before_exit = std::move(before_exit)};
}

[[noreturn]] void end_of(const Trouble& trouble) {
  Emergency emergency(0);
  emergency.report_through(to_stderr());
  emergency.end(trouble);
}

[[noreturn]] void start_mpi_too_long(int rank) {
  Emergency emergency(rank);
  emergency.report_through(to_stderr());
  const PhaseDeadline limit(emergency, rank, {"start of MPI", Part::meeting}, 20ms);
  for (;;) std::this_thread::sleep_for(1s);
}

TEST(EmergencyDeathTest, ExitsWithTheStatusOfTheTrouble) {
  EXPECT_EXIT(end_of(lost({1})), ExitedWithCode(kExitUnhealthy), "rank ended");
  EXPECT_EXIT(end_of({.kind = Trouble::Kind::stopped, .what = "ended by SIGTERM"}),
              ExitedWithCode(kExitUndecided), "ended by SIGTERM");
  EXPECT_EXIT(end_of({.kind = Trouble::Kind::given_up,
                      .phase = {"start of nccl", Part::starting},
                      .what = "no library"}),
              ExitedWithCode(kExitUndecided), "no library");
  EXPECT_EXIT(
      end_of({.kind = Trouble::Kind::given_up, .phase = "all_reduce of 8 B", .what = "an error"}),
      ExitedWithCode(kExitUnhealthy), "an error");
}

TEST(EmergencyDeathTest, PrintsItsLastLinesWithinItsPatience) {
  for (const bool hangs : {false, true}) {
    EXPECT_EXIT(
        {
          Emergency emergency(0, 20ms);
          emergency.report_through(to_stderr([hangs] {
            fmt::print(stderr, "last lines\n");
            if (hangs) std::this_thread::sleep_for(1h);
          }));
          emergency.end(lost({1}));
        },
        ExitedWithCode(kExitUnhealthy), "rank ended\nlast lines");
  }
}

// The main thread hangs and holds the lock.
TEST(EmergencyDeathTest, EndsWhileTheMainThreadHangs) {
  EXPECT_EXIT(
      {
        Emergency emergency(0, 20ms);
        emergency.report_through(to_stderr());
        const auto held = emergency.hold();
        std::thread([&] { emergency.end(lost({1})); }).join();
      },
      ExitedWithCode(kExitUnhealthy), "rank ended");
}

// Rank 1 reports if rank 0 does not.
TEST(PhaseDeadlineDeathTest, EndsAPhaseThatTakesTooLong) {
  EXPECT_EXIT(start_mpi_too_long(0), ExitedWithCode(kExitUndecided),
              "report: start of MPI: it takes longer than 0.02 s; another rank may not have "
              "reached it");
  EXPECT_EXIT(start_mpi_too_long(1), ExitedWithCode(kExitUndecided),
              "report: start of MPI: it takes longer than 0.02 s; rank 0, which is silent,");
}

TEST(PhaseDeadlineTest, LeavesAPhaseAloneThatIsInTime) {
  Emergency emergency(0);
  const PhaseDeadline limit(emergency, 0, "start of MPI", Clock::duration::max());
}

TEST(ProgressLineTest, ShowsTheOperationItsProgressAndTheTimeLeft) {
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

TEST(ProgressLineTest, ShowsTheTimeLeftUnlessItIsShort) {
  EXPECT_EQ(left_in_words(40'900ms), "; about 40 s left");
  EXPECT_EQ(left_in_words(1900ms), "");
  EXPECT_EQ(left_in_words(-3s), "");
}

TEST(ProgressLineTest, NamesTheRanksThatAreAwaited) {
  EXPECT_EQ(progress_line({.what = "all_reduce of 8 GiB",
                           .left = "",
                           .done = 25,
                           .all = 25,
                           .since = 20s,
                           .awaited = {3, 5, 6, 7}}),
            "all_reduce of 8 GiB; waiting for ranks 3,5-7");
}

TEST(TickerTest, ShowsALineAtOnceAndThenEverySecond) {
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
