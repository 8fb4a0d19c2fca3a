// SPDX-License-Identifier: Apache-2.0
#include "bench/group/group.hpp"

#include <fmt/format.h>

#include <atomic>
#include <future>
#include <thread>
#include <vector>

#include "bench/group/message_socket.hpp"
#include "tests/bench/group/harness.hpp"
#include "tests/support/matchers.hpp"

namespace muster::bench {
namespace {

// All joined, and on_trouble was not called.
void expect_calm(const std::vector<Rank>& ranks) {
  for (const auto& rank : ranks) {
    EXPECT_EQ(rank.error, "") << "rank " << rank.rank;
    EXPECT_EQ(rank.troubles, 0) << "rank " << rank.rank << ": "
                                << (rank.trouble ? rank.trouble->what : "");
  }
}

class SizesTest : public ::testing::TestWithParam<int> {};

TEST_P(SizesTest, GathersTheTextsInOrder) {
  std::vector<std::string> wanted;
  wanted.reserve(static_cast<std::size_t>(GetParam()));
  for (int rank = 0; rank < GetParam(); ++rank) wanted.push_back(fmt::format("I am {}", rank));
  const auto ranks = run_threads({.world = GetParam()}, [&](Group& group) {
    const auto texts = group.gather(fmt::format("I am {}", group.rank()));
    ASSERT_TRUE(texts) << texts.error().message;
    EXPECT_EQ(*texts, group.rank() == 0 ? wanted : std::vector<std::string>{});
  });
  expect_calm(ranks);
}

TEST_P(SizesTest, BroadcastsTheTextOfRank0) {
  const auto ranks = run_threads({.world = GetParam()}, [&](Group& group) {
    EXPECT_EQ(group.size(), GetParam());
    const auto text = group.broadcast(group.rank() == 0 ? "from rank 0" : "not this");
    ASSERT_TRUE(text) << text.error().message;
    EXPECT_EQ(*text, "from rank 0");
  });
  expect_calm(ranks);
}

TEST_P(SizesTest, WaitsForAllAtABarrier) {
  std::atomic<int> came = 0;
  const auto ranks = run_threads({.world = GetParam()}, [&](Group& group) {
    for (int round = 1; round <= 3; ++round) {
      ++came;
      ASSERT_TRUE(group.barrier());
      EXPECT_GE(came, round * GetParam());
    }
  });
  expect_calm(ranks);
}

TEST_P(SizesTest, AcceptsACommonSecret) {
  const auto ranks = run_threads({.world = GetParam(), .secret = "of this job"},
                                 [](Group& group) { ASSERT_TRUE(group.barrier()); });
  expect_calm(ranks);
  for (const auto& rank : ranks) EXPECT_THAT(rank.notes, IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(Worlds, SizesTest, ::testing::Values(1, 2, 3, 8, 64));

TEST(GroupTest, KeepsTheOrderOfTexts) {
  const auto ranks = run_threads({.world = 3}, [](Group& group) {
    for (int round = 0; round < 50; ++round) {
      const auto texts = group.gather(fmt::format("{} {}", group.rank(), round));
      ASSERT_TRUE(texts);
      const auto text = group.broadcast(texts->empty() ? "" : texts->back());
      ASSERT_TRUE(text);
      EXPECT_EQ(*text, fmt::format("2 {}", round));
    }
  });
  expect_calm(ranks);
}

TEST(GroupTest, TransfersLongTexts) {
  const std::string text(3'000'000, 'x');
  const auto ranks = run_threads({.world = 3}, [&](Group& group) {
    const auto texts = group.gather(text);
    ASSERT_TRUE(texts);
    EXPECT_EQ(group.broadcast(text).value(), text);
    const std::vector<std::string> all(3, text);
    EXPECT_EQ(*texts, group.rank() == 0 ? all : std::vector<std::string>{});
  });
  expect_calm(ranks);
}

TEST(GroupTest, RejectsATextThatIsTooLong) {
  const auto ranks = run_threads({.world = 2}, [](Group& group) {
    if (group.rank() == 1) {
      EXPECT_FALSE(group.gather(std::string(kMaxText + 1, 'x')));
    }
    EXPECT_TRUE(group.barrier());
  });
  expect_calm(ranks);
}

TEST(GroupTest, AllowsARankToLeaveEarly) {
  const auto ranks = run_threads({.world = 3}, [](Group& group) {
    if (group.rank() == 2) {
      ASSERT_TRUE(group.gather("bye"));
      return;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    ASSERT_TRUE(group.gather("hello"));
  });
  expect_calm(ranks);
}

TEST(GroupTest, ReportsAWaitForARankThatHasLeft) {
  const auto ranks = run_threads({.world = 2}, [](Group& group) {
    if (group.rank() == 1) return;
    const auto texts = group.gather("text");
    ASSERT_FALSE(texts);
    EXPECT_THAT(texts.error().message, HasSubstr("left"));
  });
  expect_calm(ranks);
}

TEST(GroupTest, AllowsRanksToArriveBeforeRank0) {
  auto listener = listen_here();
  const auto addresses = listener.addresses;
  listener.socket = Descriptor();
  auto ranks = first_ranks(2);
  const Setting setting{.world = 2};
  const auto work = [](Group& group) { ASSERT_TRUE(group.barrier()); };
  std::thread early(
      [&] { join_and_work(options_for(setting, listener, ranks[1]), ranks[1], work); });
  std::this_thread::sleep_for(std::chrono::milliseconds(80));
  Listener none{.addresses = addresses};
  join_and_work(options_for(setting, none, ranks[0]), ranks[0], work);
  early.join();
  expect_calm(ranks);
}

TEST(GroupTest, ReportsMissingRanks) {
  auto listener = listen_here();
  auto ranks = first_ranks(3);
  std::promise<std::vector<int>> told;
  auto first = options_for({.world = 3}, listener, ranks[0]);
  first.missing = [&](const std::vector<int>& missing) { told.set_value(missing); };
  const RankWork nothing = [](Group& /*group*/) {};
  std::thread zero([&] { join_and_work(std::move(first), ranks[0], nothing); });
  std::thread one(
      [&] { join_and_work(options_for({.world = 3}, listener, ranks[1]), ranks[1], nothing); });
  EXPECT_THAT(told.get_future().get(), ElementsAre(2));
  std::thread two(
      [&] { join_and_work(options_for({.world = 3}, listener, ranks[2]), ranks[2], nothing); });
  for (auto* thread : {&zero, &one, &two}) thread->join();
  expect_calm(ranks);
}

TEST(GroupTest, ReportsAwaitedRanks) {
  std::promise<void> seen;
  const auto was_seen = seen.get_future().share();
  const auto ranks = run_threads({.world = 3}, [&](Group& group) {
    std::thread looks;
    if (group.rank() == 0) {
      EXPECT_TRUE(group.awaited().empty());
      looks = std::thread([&] {
        while (group.awaited() != std::vector<int>{2}) std::this_thread::yield();
        seen.set_value();
      });
    }
    if (group.rank() == 2) was_seen.wait();
    EXPECT_TRUE(group.gather("done"));
    if (looks.joinable()) looks.join();
    EXPECT_TRUE(group.awaited().empty());
  });
  expect_calm(ranks);
}

TEST(GroupTest, SkipsAnUnreachableAddress) {
  auto listener = listen_here();
  auto elsewhere = listen_here();
  elsewhere.socket = Descriptor();
  auto ranks = first_ranks(2);
  const Setting setting{.world = 2};
  const auto work = [](Group& group) { ASSERT_TRUE(group.barrier()); };
  auto server = options_for(setting, listener, ranks[0]);
  auto member = options_for(setting, listener, ranks[1]);
  member.addresses.insert(member.addresses.begin(), elsewhere.addresses.front());
  std::thread other([&] { join_and_work(std::move(member), ranks[1], work); });
  join_and_work(std::move(server), ranks[0], work);
  other.join();
  expect_calm(ranks);
}

}  // namespace
}  // namespace muster::bench
