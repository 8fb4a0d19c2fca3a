// SPDX-License-Identifier: Apache-2.0
// Where there are too few file descriptors for all the connections.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <utility>

#include "bench/group/listener.hpp"
#include "bench/group/poller.hpp"
#include "bench/sockets/sockets.hpp"
#include "tests/bench/group/harness.hpp"

namespace muster::bench {
namespace {

using ::testing::ExitedWithCode;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr int kDone = 7;

// Rank 0 of a hundred, with room for fewer.
[[noreturn]] void join_with_few() {
  const rlimit few{.rlim_cur = 200, .rlim_max = 300};
  ::setrlimit(RLIMIT_NOFILE, &few);
  auto listener = listen_here();
  const auto joined =
      Group::join({.rank = 0, .world = 100, .listener = std::move(listener.socket)});
  fmt::print(stderr, "{}\n", joined ? "joined" : joined.error().message);
  ::_exit(kDone);
}

TEST(DescriptorsDeathTest, RankZeroSaysAtOnceThatItMayNotHaveEnough) {
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

TEST(DescriptorsTest, TheListenerTellsWhyItCouldNotLetSomebodyIn) {
  auto listener = listen_here();
  const auto addresses = resolve(listener.addresses.front());
  ASSERT_TRUE(addresses);
  const auto caller = start_connecting(addresses->front());
  ASSERT_TRUE(caller);
  const JoinOptions options{.world = 2, .hello_limit = kLong};
  RankListener rank_listener(std::move(listener.socket), options);
  EXPECT_THAT(rank_listener.refusals(), IsEmpty());
  Poller poller;
  std::size_t let_in = 0;
  {
    // Nothing is asserted in here: a sanitizer needs descriptors to look at what it is shown.
    const Limited limited(3);
    rank_listener.watch(poller);
    poller.wait(after(kLong));
    let_in = rank_listener.serve(poller).size();
  }
  EXPECT_EQ(let_in, 0U);
  EXPECT_THAT(rank_listener.refusals(),
              HasSubstr("rank 0 could not accept all connections: Too many open files"));
}

// poll(2) takes no more entries than the limit.
TEST(DescriptorsTest, ThePollerAsksForNothingWhereThereIsNoDescriptor) {
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
