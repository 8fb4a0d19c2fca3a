// SPDX-License-Identifier: Apache-2.0
// Ranks that are late, absent, stopped, killed, or give up: every rank hears of it once.
#include <fmt/format.h>
#include <unistd.h>

#include <csignal>
#include <thread>
#include <utility>

#include "bench/group/group.hpp"
#include "tests/bench/group/harness.hpp"
#include "tests/support/matchers.hpp"

namespace muster::bench {
namespace {

constexpr auto kShort = std::chrono::milliseconds(150);

void expect_trouble(const Rank& rank, Trouble::Kind kind, std::string_view phase,
                    const std::vector<int>& ranks) {
  ASSERT_EQ(rank.troubles, 1) << "rank " << rank.rank;
  EXPECT_EQ(rank.trouble->kind, kind) << rank.trouble->what;
  EXPECT_EQ(rank.trouble->phase.name, phase);
  EXPECT_EQ(rank.trouble->ranks, ranks) << rank.trouble->what;
}

// Waits for a text that never comes, until there is trouble.
void wait_for_trouble(Group& group) {
  if (group.rank() == 0) {
    EXPECT_FALSE(group.gather(""));
  } else {
    EXPECT_FALSE(group.broadcast(""));
  }
}

// Works without waiting until there is trouble.
void work_until_trouble(Group& group) {
  while (group.rank() == 0 ? group.broadcast("").has_value() : group.gather("").has_value()) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

// Rank 0 works in this process, and ranks 1 and 2 in their own.
class ThreeProcesses {
 public:
  ThreeProcesses(const RankWork& of_others, const RankWork& of_rank_0,
                 Clock::duration grace = std::chrono::milliseconds(300))
      : setting_{.world = 3, .grace = grace},
        first(setting_, listener_, 1, of_others),
        second(setting_, listener_, 2, of_others) {
    join_and_work(options_for(setting_, listener_, rank), rank, of_rank_0);
  }

 private:
  Listener listener_ = listen_here();
  Setting setting_;

 public:
  Rank rank{};
  Process first, second;
};

// Rank 2 receives the signal while all work.
RankWork work_until_signal(int signal) {
  return [signal](Group& group) {
    group.enter("all_reduce", kLong);
    EXPECT_TRUE(group.barrier());
    if (group.rank() == 2) ::kill(::getpid(), signal);
    work_until_trouble(group);
  };
}

TEST(LateTest, NamesARankThatHangsInAnEarlierPhase) {
  const auto ranks = run_threads({.world = 4}, [](Group& group) {
    group.enter("fill", kLong);
    // Rank 2 never enters the next phase. Rank 0 does once the others have.
    if (group.rank() % 2 == 1) group.enter("all_reduce", kLong);
    EXPECT_TRUE(group.barrier());
    if (group.rank() == 0) group.enter("all_reduce", kShort);
    work_until_trouble(group);
  });
  for (const auto& rank : ranks) {
    expect_trouble(rank, Trouble::Kind::late, "all_reduce", {2});
    EXPECT_THAT(rank.trouble->arrived, ElementsAre(0, 1, 3));
    EXPECT_EQ(rank.trouble->what,
              "the phase \"all_reduce\" takes longer than 150 ms: rank 2 (test) is still in the "
              "phase \"fill\"");
  }
}

using Count = std::shared_ptr<std::atomic<std::uint64_t>>;

ProgressCounters counters(const Count& count) {
  return {.started = [count] { return count->load(); },
          .finished = [count] { return count->load(); }};
}

// Works for 300 ms, with an iteration every 15.
void work_on(std::atomic<std::uint64_t>& count) {
  for (int i = 0; i < 20; ++i) {
    std::this_thread::sleep_for(kShort / 10);
    ++count;
  }
}

TEST(LateTest, RestartsTheLimitWithEachOperation) {
  const auto ranks = run_threads({.world = 3}, [](Group& group) {
    const auto count = std::make_shared<std::atomic<std::uint64_t>>(0);
    group.enter("all_reduce", group.rank() == 2 ? kShort * 4 : kLong, counters(count));
    work_on(*count);
    work_on(*count);
    work_on(*count);
    EXPECT_TRUE(group.barrier());
  });
  for (const auto& rank : ranks) EXPECT_EQ(rank.troubles, 0) << rank.trouble->what;
}

TEST(LateTest, DetectsThatOperationsStop) {
  const auto ranks = run_threads({.world = 2}, [](Group& group) {
    const auto count = std::make_shared<std::atomic<std::uint64_t>>(0);
    group.enter("all_reduce", group.rank() == 1 ? kShort * 4 : kLong, counters(count));
    if (group.rank() == 1) work_on(*count);
    work_until_trouble(group);
  });
  for (const auto& rank : ranks) {
    ASSERT_EQ(rank.troubles, 1);
    EXPECT_EQ(rank.trouble->kind, Trouble::Kind::late);
    EXPECT_THAT(rank.trouble->what,
                HasSubstr("an operation of the phase \"all_reduce\" takes longer than 600 ms"));
  }
}

TEST(LateTest, NamesRankZero) {
  const auto ranks = run_threads({.world = 3}, [](Group& group) {
    group.enter("fill", kLong);
    if (group.rank() == 2) group.enter("all_reduce", kLong);
    EXPECT_TRUE(group.barrier());
    if (group.rank() == 1) group.enter("all_reduce", kShort);
    wait_for_trouble(group);
  });
  for (const auto& rank : ranks) expect_trouble(rank, Trouble::Kind::late, "all_reduce", {0});
}

TEST(LateTest, WatchesASingleProcess) {
  const auto ranks = run_threads({.world = 1}, [](Group& group) {
    group.enter("start NCCL", kShort);
    while (group.barrier()) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  });
  expect_trouble(ranks.front(), Trouble::Kind::late, "start NCCL", {});
  EXPECT_THAT(ranks.front().trouble->arrived, ElementsAre(0));
}

TEST(LateTest, NamesTheRankThatASingleProcessSimulates) {
  auto listener = listen_here();
  Rank rank;
  auto options = options_for({.world = 1}, listener, rank);
  options.simulated = [](const Stage& own) {
    auto behind = own;
    --behind.started;
    return std::vector<RankStage>{{.rank = 0, .stage = own}, {.rank = 1, .stage = behind}};
  };
  join_and_work(std::move(options), rank, [](Group& group) {
    group.enter("all_reduce", kShort,
                {.started = [] { return 3U; }, .finished = [] { return 2U; }});
    std::this_thread::sleep_for(6 * kShort);
  });
  expect_trouble(rank, Trouble::Kind::late, "all_reduce", {1});
}

TEST(LateTest, AcceptsPhasesInTime) {
  const auto ranks = run_threads({.world = 2}, [](Group& group) {
    for (int round = 0; round < 20; ++round) {
      group.enter(fmt::format("round {}", round), kLong);
      ASSERT_TRUE(group.barrier());
    }
    group.enter("the end", Clock::duration::max());
  });
  for (const auto& rank : ranks) EXPECT_EQ(rank.troubles, 0);
}

TEST(LateTest, NamesAStoppedProcess) {
  const auto work = [](Group& group) {
    group.enter("all_reduce", std::chrono::milliseconds(300));
    EXPECT_TRUE(group.barrier());
    work_until_trouble(group);
  };
  ThreeProcesses all(work_until_signal(SIGSTOP), work, std::chrono::milliseconds(500));
  expect_trouble(all.rank, Trouble::Kind::late, "all_reduce", {2});
  EXPECT_THAT(all.rank.trouble->arrived, ElementsAre(0, 1));
  EXPECT_THAT(all.rank.trouble->what, HasSubstr("rank 2 (test) does not answer"));
  EXPECT_EQ(all.first.wait(), Process::kReported);
  all.second.signal(SIGCONT);
  EXPECT_EQ(all.second.wait(), Process::kReported);
}

TEST(LateTest, IsDecidedByOthersIfRankZeroIsStopped) {
  auto listener = listen_here();
  const Setting setting{.world = 2, .grace = std::chrono::milliseconds(100)};
  Process server([&] {
    Rank self{.rank = 0};
    auto options = options_for(setting, listener, self);
    options.on_trouble = [](const Trouble& trouble) {
      ::_exit(trouble.ranks == std::vector{0} && trouble.without_rank_0 ? Process::kReported : 1);
    };
    join_and_work(std::move(options), self, [](Group& group) {
      group.enter("all_reduce", kShort);
      EXPECT_TRUE(group.gather(""));
      ::kill(::getpid(), SIGSTOP);
      ::pause();
    });
  });
  Rank rank{.rank = 1};
  join_and_work(options_for(setting, listener, rank), rank, [](Group& group) {
    group.enter("all_reduce", kShort);
    EXPECT_TRUE(group.gather(""));
    wait_for_trouble(group);
  });
  expect_trouble(rank, Trouble::Kind::late, "all_reduce", {0});
  EXPECT_THAT(rank.trouble->arrived, ElementsAre(1));
  EXPECT_THAT(rank.trouble->what, HasSubstr("rank 0 does not answer"));
  std::this_thread::sleep_for(
      std::chrono::milliseconds(1200));  // longer than a busy machine is late
  server.signal(SIGCONT);
  EXPECT_EQ(server.wait(), Process::kReported) << "it must not blame the ranks that have ended";
}

TEST(LostTest, NamesAKilledProcess) {
  const auto work = [](Group& group) {
    group.enter("all_reduce", kLong);
    EXPECT_TRUE(group.barrier());
    if (group.rank() == 2) ::kill(::getpid(), SIGKILL);
    wait_for_trouble(group);
  };
  ThreeProcesses all(work, work);
  expect_trouble(all.rank, Trouble::Kind::lost, "all_reduce", {2});
  EXPECT_EQ(all.rank.trouble->what,
            "rank 2 (test) exited unexpectedly, or its node is down, in the phase \"all_reduce\"");
  EXPECT_EQ(all.first.wait(), Process::kReported);
  EXPECT_EQ(all.second.wait(), 128 + SIGKILL);
}

// Its earlier texts are kept.
TEST(LostTest, AllowsARunToContinue) {
  const auto of_others = [](Group& group) {
    EXPECT_TRUE(group.barrier());
    EXPECT_TRUE(group.gather(fmt::format("first of {}", group.rank())));
    if (group.rank() == 2) {
      EXPECT_TRUE(group.broadcast(""));  // both have said it
      ::kill(::getpid(), SIGKILL);
    }
    EXPECT_TRUE(group.broadcast(""));
    EXPECT_TRUE(group.gather("second of 1"));
    EXPECT_TRUE(group.barrier());
    EXPECT_EQ(group.broadcast("").value_or("none"), "the end");
  };
  ThreeProcesses all(of_others, [](Group& group) {
    group.enter("all_reduce", kLong);
    EXPECT_TRUE(group.barrier());
    group.go_on_without_the_lost();
    EXPECT_THAT(group.gather("").value(), ElementsAre("", "first of 1", "first of 2"));
    EXPECT_TRUE(group.losses().empty());
    EXPECT_TRUE(group.broadcast(""));
    EXPECT_THAT(group.gather("").value(), ElementsAre("", "second of 1", ""));
    EXPECT_TRUE(group.barrier());
    const auto losses = group.losses();
    ASSERT_EQ(losses.size(), 1U);
    EXPECT_THAT(losses.front().ranks, ElementsAre(2));
    EXPECT_THAT(losses.front().what, HasSubstr("rank 2 (test) exited unexpectedly"));
    EXPECT_TRUE(group.awaited().empty());
    EXPECT_TRUE(group.broadcast("the end"));
  });
  EXPECT_EQ(all.rank.troubles, 0);
  EXPECT_EQ(all.first.wait(), 0);
  EXPECT_EQ(all.second.wait(), 128 + SIGKILL);
}

TEST(LostTest, AllowsToDetectLateRanksAfterwards) {
  ThreeProcesses all(work_until_signal(SIGKILL), [](Group& group) {
    group.go_on_without_the_lost();
    group.enter("all_reduce", std::chrono::milliseconds(500));
    EXPECT_TRUE(group.barrier());
    work_until_trouble(group);
  });
  ASSERT_EQ(all.rank.troubles, 1);
  EXPECT_EQ(all.rank.trouble->kind, Trouble::Kind::late);
  EXPECT_THAT(all.rank.trouble->what, Not(HasSubstr("rank 2")));
  EXPECT_EQ(all.first.wait(), Process::kReported);
  EXPECT_EQ(all.second.wait(), 128 + SIGKILL);
}

TEST(LostTest, NamesRanksThatDieTogether) {
  auto listener = listen_here();
  const Setting setting{.world = 3};
  Rank rank{.rank = 0};
  auto options = options_for(setting, listener, rank);
  // Two ranks in one process, like a node.
  Process node([&] {
    std::vector<Rank> ranks{{.rank = 1}, {.rank = 2}};
    std::vector<std::thread> threads;
    threads.reserve(ranks.size());
    for (auto& each : ranks) {
      threads.emplace_back([&setting, &listener, &each] {
        join_and_work(options_for(setting, listener, each), each, wait_for_trouble);
      });
    }
    for (auto& thread : threads) thread.join();
  });
  join_and_work(std::move(options), rank, [&](Group& group) {
    node.signal(SIGKILL);
    wait_for_trouble(group);
  });
  expect_trouble(rank, Trouble::Kind::lost, "start", {1, 2});
}

TEST(LostTest, IsReportedByAllIfRankZeroIsKilled) {
  auto listener = listen_here();
  const Setting setting{.world = 3};
  Process server(setting, listener, 0, [](Group& group) {
    EXPECT_TRUE(group.gather(""));
    ::kill(::getpid(), SIGKILL);
  });
  const auto work = [](Group& group) {
    EXPECT_TRUE(group.gather(""));
    wait_for_trouble(group);
  };
  Process other(setting, listener, 2, work);
  Rank rank{.rank = 1};
  join_and_work(options_for(setting, listener, rank), rank, work);
  expect_trouble(rank, Trouble::Kind::lost, "start", {0});
  EXPECT_EQ(other.wait(), Process::kReported);
  EXPECT_EQ(server.wait(), 128 + SIGKILL);
}

TEST(LostTest, NamesAProcessKilledInTheRendezvous) {
  auto listener = listen_here();
  const Setting setting{.world = 3};
  Process dies(setting, listener, 1, [](Group& /*group*/) {});
  std::thread killer([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    dies.signal(SIGKILL);
  });
  Rank rank{.rank = 0};
  join_and_work(options_for(setting, listener, rank), rank, [](Group& /*group*/) {});
  killer.join();
  expect_trouble(rank, Trouble::Kind::lost, "rendezvous", {1});
  EXPECT_THAT(rank.error, HasSubstr("rank 1 (test) exited unexpectedly"));
}

TEST(AbsentTest, NamesTheMissingRanksToAllOthers) {
  auto listener = listen_here();
  const Setting setting{.world = 5, .patience = std::chrono::milliseconds(400)};
  std::vector<Rank> ranks{{.rank = 0}, {.rank = 1}, {.rank = 3}};
  std::vector<std::thread> threads;
  for (auto& rank : ranks) {
    auto options = options_for(setting, listener, rank);
    threads.emplace_back([options = std::move(options), &rank]() mutable {
      join_and_work(std::move(options), rank, [](Group& /*group*/) { FAIL(); });
    });
  }
  for (auto& thread : threads) thread.join();
  for (const auto& rank : ranks) {
    expect_trouble(rank, Trouble::Kind::absent, "rendezvous", {2, 4});
    EXPECT_THAT(rank.trouble->arrived, ElementsAre(0, 1, 3));
    EXPECT_EQ(rank.error, "ranks 2,4 did not come to the rendezvous within 400 ms; 3 of 5 came");
  }
}

TEST(GiveUpTest, IsReportedToTheOthersOnly) {
  for (const auto& [giver, kind] :
       {std::pair{0, Trouble::Kind::given_up}, {2, Trouble::Kind::stopped}}) {
    const auto ranks = run_threads({.world = 3}, [giver = giver, kind = kind](Group& group) {
      group.enter("start NCCL", kLong);
      if (group.rank() != giver) return wait_for_trouble(group);
      group.give_up({.kind = kind, .phase = "start NCCL", .what = "out of memory"});
      EXPECT_FALSE(group.broadcast(""));
    });
    for (const auto& rank : ranks) {
      if (rank.rank == giver) {
        EXPECT_EQ(rank.troubles, 0);
        continue;
      }
      expect_trouble(rank, kind, "start NCCL", {giver});
      EXPECT_EQ(rank.trouble->what, "out of memory");
    }
  }
}

TEST(GiveUpTest, HasNoDelayInASingleProcess) {
  const auto ranks = run_threads({.world = 1, .grace = kLong}, [](Group& group) {
    group.give_up({.what = "no GPU"});
    EXPECT_FALSE(group.barrier());
  });
  EXPECT_EQ(ranks.front().troubles, 0);
}

TEST(GroupTroubleTest, RankZeroReportsBeforeTheOthersEnd) {
  auto listener = listen_here();
  const Setting setting{.world = 2, .grace = kLong};
  Process other(setting, listener, 1, [](Group& group) {
    EXPECT_TRUE(group.barrier());
    wait_for_trouble(group);
  });
  Rank rank{.rank = 0};
  auto options = options_for(setting, listener, rank);
  bool alone = false;
  options.on_trouble = [&](const Trouble& /*trouble*/) {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    alone = other.has_ended();
  };
  join_and_work(std::move(options), rank, [](Group& group) {
    EXPECT_TRUE(group.barrier());
    group.enter("all_reduce", kShort);
    wait_for_trouble(group);
  });
  EXPECT_FALSE(alone);
  EXPECT_EQ(other.wait(), Process::kReported);
}

}  // namespace
}  // namespace muster::bench
