// SPDX-License-Identifier: Apache-2.0
// Connections to rank 0 from others than the ranks of this run are refused, logged and harmless.
// Also too few file descriptors for all connections.
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <utility>

#include "bench/group/group.hpp"
#include "bench/sockets/greeting.hpp"
#include "bench/sockets/poller.hpp"
#include "bench/sockets/sockets.hpp"
#include "tests/bench/group/harness.hpp"
#include "tests/support/matchers.hpp"

namespace muster::bench {
namespace {

using ::testing::ExitedWithCode;

Descriptor connected_to(const Listener& listener) {
  return connect_once(listener.addresses.front(), after(kLong), kLong).value();
}

// The notes of rank 0 of two, with a stranger in between: `bother` runs while rank 0 waits. Both
// ranks must join nonetheless.
std::vector<std::string> notes_of(const Setting& setting,
                                  const std::function<void(const Listener&)>& bother) {
  auto listener = listen_here();
  auto ranks = first_ranks(2);
  const auto work = [](Group& group) { EXPECT_TRUE(group.barrier()); };
  auto server = options_for(setting, listener, ranks[0]);
  std::thread first([&] { join_and_work(std::move(server), ranks[0], work); });
  bother(listener);
  join_and_work(options_for(setting, listener, ranks[1]), ranks[1], work);
  first.join();
  for (const auto& rank : ranks) {
    EXPECT_EQ(rank.error, "");
    EXPECT_EQ(rank.troubles, 0);
  }
  return ranks[0].notes;
}

TEST(StrangerTest, DoesNotHoldUpTheRanksIfItIsSilent) {
  std::vector<Descriptor> silent;
  const auto notes = notes_of({}, [&](const Listener& listener) {
    for (int count = 0; count < 20; ++count) silent.push_back(connected_to(listener));
  });
  EXPECT_THAT(notes, IsEmpty());
}

TEST(StrangerTest, CannotBecomeRankZero) {
  const auto notes = notes_of({}, [](const Listener& listener) {
    const auto socket = connected_to(listener);
    const Identity rank_0{0, 2, "", ""};
    EXPECT_TRUE(send_greeting(socket.get(), rank_0, 0));
    EXPECT_EQ(receive_answer(socket.get(), rank_0, 0, after(kLong)).value(),
              "rank 0 (test) is here already");
  });
  EXPECT_THAT(notes, SizeIs(1));
}

TEST(StrangerTest, IsARankThatComesTwice) {
  auto listener = listen_here();
  const Setting setting{.world = 3};
  auto ranks = first_ranks(3);
  Rank twin{.rank = 1};
  const auto work = [](Group& group) { EXPECT_TRUE(group.barrier()); };
  std::atomic<int> ended = 0;
  const auto start = [&](Rank& rank) {
    return std::thread(
        [options = options_for(setting, listener, rank), &rank, &work, &ended]() mutable {
          join_and_work(std::move(options), rank, work);
          ++ended;
        });
  };
  std::vector<std::thread> threads;
  threads.push_back(start(ranks[0]));
  threads.push_back(start(ranks[1]));
  threads.push_back(start(twin));
  // One of the two is refused; only then can all ranks meet.
  while (ended == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  threads.push_back(start(ranks[2]));
  for (auto& thread : threads) thread.join();
  EXPECT_TRUE(ranks[1].error.empty() != twin.error.empty());
  EXPECT_THAT(ranks[1].error + twin.error, HasSubstr("rank 1 (test) is here already"));
  EXPECT_EQ(ranks[0].error, "");
  EXPECT_EQ(ranks[2].error, "");
  EXPECT_EQ(ranks[1].troubles, 0);
  EXPECT_EQ(twin.troubles, 0);
  EXPECT_THAT(ranks[0].notes, ElementsAre(HasSubstr("rank 1 (test) is here already")));
}

TEST(StrangerTest, IsNotTakenForRankZero) {
  auto listener = listen_here();
  std::atomic<bool> done = false;
  std::thread other([&] {
    while (!done) {
      const Descriptor client(::accept(listener.socket.get(), nullptr, nullptr));
      constexpr std::string_view kBanner = "SSH-2.0-OpenSSH_9.2\r\n";
      if (client.is_open()) ::send(client.get(), kBanner.data(), kBanner.size(), MSG_NOSIGNAL);
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
  });
  Rank rank{.rank = 1};
  const Setting setting{.patience = std::chrono::milliseconds(300)};
  join_and_work(options_for(setting, listener, rank), rank, [](Group& /*group*/) { FAIL(); });
  done = true;
  other.join();
  EXPECT_EQ(rank.troubles, 1);
  EXPECT_THAT(rank.error, AllOf(HasSubstr("rank 0 did not come to the rendezvous within 300 ms"),
                                HasSubstr("another program listens there")));
}

constexpr int kDone = 7;

[[noreturn]] void join_with_few() {
  const rlimit few{.rlim_cur = 200, .rlim_max = 300};
  ::setrlimit(RLIMIT_NOFILE, &few);
  auto listener = listen_here();
  const auto joined =
      Group::join({.rank = 0, .world = 100, .listener = std::move(listener.socket)});
  fmt::print(stderr, "{}\n", joined ? "joined" : joined.error().message);
  ::_exit(kDone);
}

TEST(DescriptorsDeathTest, RankZeroRefusesToStartWithTooFew) {
  EXPECT_EXIT(join_with_few(), ExitedWithCode(kDone),
              "rank 0 needs 355 file descriptors, and may have 300: raise the hard limit");
}

// The soft limit of this process while it lives.
class Limited {
 public:
  explicit Limited(rlim_t soft) {
    ::getrlimit(RLIMIT_NOFILE, &before_);
    const rlimit now{.rlim_cur = soft, .rlim_max = before_.rlim_max};
    ::setrlimit(RLIMIT_NOFILE, &now);
  }

  Limited(const Limited&) = delete;
  Limited& operator=(const Limited&) = delete;

  ~Limited() { ::setrlimit(RLIMIT_NOFILE, &before_); }

 private:
  rlimit before_{};
};

TEST(DescriptorsTest, DoorkeeperReportsThatAcceptFails) {
  auto listener = listen_here();
  const auto addresses = resolve(listener.addresses.front());
  ASSERT_TRUE(addresses);
  const auto caller = start_connecting(addresses->front());
  ASSERT_TRUE(caller);
  Doorkeeper door(std::move(listener.socket), {.ranks = 2}, kLong, nullptr);
  EXPECT_THAT(door.refusals(), IsEmpty());
  Poller poller;
  std::size_t let_in = 0;
  {
    // No assertions here: sanitizers need descriptors.
    const Limited limited(3);
    door.watch(poller);
    poller.wait(after(kLong));
    let_in = door.serve(poller).size();
  }
  EXPECT_EQ(let_in, 0U);
  EXPECT_THAT(door.refusals(), HasSubstr("accept: Too many open files"));
}

// poll(2) accepts at most as many entries as the limit.
TEST(DescriptorsTest, PollerSkipsNegativeDescriptors) {
  auto listener = listen_here();
  const auto addresses = resolve(listener.addresses.front());
  ASSERT_TRUE(addresses);
  const auto caller = start_connecting(addresses->front());
  ASSERT_TRUE(caller);
  Poller poller;
  std::size_t none = 0;
  std::size_t slot = 0;
  {
    const Limited limited(3);
    for (int i = 0; i < 10; ++i) none = poller.add(-1);
    slot = poller.add(listener.socket.get());
    poller.wait(after(kLong));
  }
  EXPECT_TRUE(poller.is_ready(slot));
  EXPECT_FALSE(poller.is_ready(none));
}

}  // namespace
}  // namespace muster::bench
