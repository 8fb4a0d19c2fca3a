// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <random>

#include "lib/accept/next.hpp"
#include "tests/lib/accept/acceptance.hpp"

namespace muster::accept {
namespace {

// Random outcomes at every stage: the run ends, each node has one verdict, none is accepted without
// all stages, none is rejected for a single soft failure, and the order of the files is irrelevant.
class NextOfRandomHistories : public testing::TestWithParam<unsigned> {};

Outcomes random_outcome(std::mt19937& random, Stage stage) {
  switch (std::uniform_int_distribution(0, 30)(random)) {
    case 0:
      return failed(kMissing);
    case 1:
      return stage == Stage::node ? failed(kSlow) : failed(kXid);
    case 2:
      return {.end = AttemptEnd::lost};
    case 3:
      return {.end = AttemptEnd::interrupted};
    case 4:
      return refused(cause("gpu.ecc", "gpu0", Evidence::uncertain, Charge::open));
    case 5:
      return refused(cause("bench.in_use", "gpu0", Evidence::refused, Charge::ours));
    default:
      return {};
  }
}

Outcomes random_group(std::mt19937& random, const GroupAttempt& attempt) {
  const auto pick = [&] {
    const auto last = attempt.nodes.size() - 1;
    return attempt.nodes[std::uniform_int_distribution<std::size_t>(0, last)(random)];
  };
  switch (std::uniform_int_distribution(0, 12)(random)) {
    case 0: {
      auto named = cause("bench.locate", "node", Evidence::slow);
      named.node = pick();
      return failed(named);
    }
    case 1:
      return {.end = AttemptEnd::interrupted};
    case 2:
      return {.end = AttemptEnd::lost, .lost = {pick()}};
    case 3:
      return failed(cause("bench.job_all_reduce", "job", Evidence::slow));
    default:
      return {};
  }
}

TEST_P(NextOfRandomHistories, EndWithOneVerdictForEachNode) {
  std::mt19937 random(GetParam());
  Acceptance run(6);
  run.order.plan.breaker_nodes = 7;
  run.on_node = [&](const std::string&, Stage stage, int) { return random_outcome(random, stage); };
  run.on_group = [&](const GroupAttempt& attempt) { return random_group(random, attempt); };
  const auto end = run.run();
  ASSERT_TRUE(end.complete);
  for (int i = 0; i < 6; ++i) {
    const auto& standing = end.standings[static_cast<std::size_t>(i)];
    const auto name = fmt::format("n{}", i);
    EXPECT_TRUE(is_final(standing));
    const bool accepted =
        standing.verdict == NodeVerdict::accepted || standing.verdict == NodeVerdict::remarks;
    if (accepted) {
      for (const auto stage :
           {Stage::inventory, Stage::check, Stage::node, Stage::soak, Stage::after}) {
        EXPECT_GE(count_of(run, name, stage), 1);
      }
      EXPECT_GE(groups_of(run, name, Stage::fabric), 1);
      EXPECT_GE(groups_of(run, name, Stage::whole), 1);
      EXPECT_GE(standing.soaked_s, run.order.plan.soak_s);
    }
    if (standing.verdict != NodeVerdict::rejected) continue;
    std::int64_t failures = 0;
    for (const auto& attempt : run.results.attempts) {
      const bool bad = attempt.end == AttemptEnd::fail || attempt.end == AttemptEnd::lost;
      failures += attempt.node == name && bad ? 1 : 0;
    }
    for (const auto& group : run.results.groups) {
      failures += std::ranges::count(group.lost, name) +
                  std::ranges::count(group.causes, name, &Cause::node);
    }
    EXPECT_GE(failures, 2) << standing.why;
  }
  auto shuffled = run;
  std::ranges::shuffle(shuffled.results.attempts, random);
  std::ranges::shuffle(shuffled.results.groups, random);
  EXPECT_EQ(shuffled.ask().standings, end.standings);
}

INSTANTIATE_TEST_SUITE_P(Seeds, NextOfRandomHistories, testing::Range(0U, 400U));

}  // namespace
}  // namespace muster::accept
