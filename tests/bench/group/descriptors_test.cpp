// SPDX-License-Identifier: Apache-2.0
// Too few file descriptors for all connections.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <utility>

#include "bench/sockets/greeting.hpp"
#include "bench/sockets/poller.hpp"
#include "bench/sockets/sockets.hpp"
#include "tests/bench/group/harness.hpp"

namespace muster::bench {
namespace {

using ::testing::ExitedWithCode;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

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
