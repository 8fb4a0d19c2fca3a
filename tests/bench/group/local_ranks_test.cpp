// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>

#include "bench/group/group.hpp"
#include "bench/launch/local.hpp"
#include "tests/bench/group/harness.hpp"

namespace muster::bench {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

[[noreturn]] void be_rank(LocalRank& rank, const std::function<int(Group&)>& work) {
  // The supervisor's signal may come before the group detects the loss.
  static_cast<void>(std::signal(SIGTERM, SIG_IGN));
  auto group =
      Group::join({.rank = rank.place.rank,
                   .world = rank.place.world,
                   .addresses = {*rank.place.rendezvous},
                   .listener = std::move(rank.listener),
                   .secret = rank.secret,
                   .patience = kLong,
                   .on_trouble = [](const Trouble& /*trouble*/) { ::_exit(Process::kTold); }});
  const int status = group ? work(**group) : 1;
  if (group) group->reset();
  ::_exit(status);
}

// Forks ranks that join and exit with the result of `work`, or with Process::kTold.
LocalEnd run_local(int count, const std::function<int(Group&)>& work) {
  auto result = fork_local_ranks({}, {.count = count, .grace = kLong});
  if (!result) {
    ADD_FAILURE() << result.error().message;
    return {};
  }
  if (auto* end = std::get_if<LocalEnd>(&*result)) return *end;
  be_rank(std::get<LocalRank>(*result), work);
}

TEST(LocalRanksTest, Meet) {
  const auto end = run_local(4, [](Group& group) {
    const auto texts = group.gather("x");
    const std::size_t wanted = group.rank() == 0 ? 4 : 0;
    return group.barrier() && texts && texts->size() == wanted ? 0 : 1;
  });
  EXPECT_EQ(end.status, 0);
  EXPECT_TRUE(end.notes.empty());
}

TEST(LocalRanksTest, EndOnceOneIsKilled) {
  for (const int victim : {0, 2}) {
    const auto end = run_local(3, [victim](Group& group) {
      if (!group.barrier()) return 1;
      if (group.rank() == victim) ::kill(::getpid(), SIGKILL);
      for (;;) ::pause();
    });
    EXPECT_EQ(end.status, Process::kTold);
    EXPECT_THAT(end.notes, ElementsAre(HasSubstr("was killed by signal 9")));
  }
}

}  // namespace
}  // namespace muster::bench
