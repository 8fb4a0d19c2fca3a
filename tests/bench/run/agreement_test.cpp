// SPDX-License-Identifier: Apache-2.0
#include "bench/run/agreement.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace muster::bench {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

Introduction on(std::string host) {
  return {.host = std::move(host),
          .pid = 1,
          .backend = "nccl",
          .profile = "nd96asr_v4",
          .asked = "all_reduce"};
}

TEST(LineupTest, CountsTheRanksOfEachHost) {
  const auto lineup = line_up({on("b"), on("a"), on("b"), on("b"), on("a")});
  EXPECT_EQ(lineup.complaint, "");
  EXPECT_THAT(lineup.hosts, ElementsAre("b", "a"));
  EXPECT_THAT(lineup.local_ranks, ElementsAre(0, 0, 1, 2, 1));
}

TEST(LineupTest, TheFirstRankOfAnotherNodeIsTheDeputy) {
  auto first = on("a");
  first.doors = {{.host = "10.0.0.4", .port = 4000}};
  const auto agreed = line_up({on("a"), first, on("b"), on("b"), on("c")});
  EXPECT_EQ(agreed.deputy, 2);
  EXPECT_EQ(agreed.doors, first.doors);
  // Rank 1 reports anyhow.
  EXPECT_EQ(line_up({on("a"), on("b"), on("a")}).deputy, 0);
  EXPECT_EQ(line_up({on("a"), on("a"), on("a")}).deputy, 0);
}

TEST(LineupTest, NamesTheRankWithOtherArguments) {
  auto other = on("b");
  other.asked = "broadcast";
  EXPECT_EQ(line_up({on("a"), on("a"), other}).complaint,
            "rank 2 on b was started with other arguments than rank 0: broadcast");
}

TEST(LineupTest, NamesTheRankWithAnotherBackend) {
  auto other = on("b");
  other.backend = "tcp";
  EXPECT_EQ(line_up({on("a"), other}).complaint,
            "rank 0 on a would run the back end nccl and rank 1 on b tcp: is a GPU or a library "
            "missing on one of them? --backend decides");
}

TEST(LineupTest, NamesEachNodeOfAnotherKindOnce) {
  std::vector<Introduction> all{on("a"), on("a")};
  EXPECT_THAT(other_profiles(all), IsEmpty());
  for (const auto* host : {"b", "b", "c"}) {
    all.push_back(on(host));
    all.back().profile = "generic";
  }
  EXPECT_THAT(other_profiles(all),
              ElementsAre("b looks like generic, and not like the node of rank 0",
                          "c looks like generic, and not like the node of rank 0"));
}

TEST(LineupTest, NamesAFewHostsAndCountsTheRest) {
  EXPECT_EQ(named({}), "");
  EXPECT_EQ(named({"a"}), "a");
  EXPECT_EQ(named({"a", "b", "c", "d"}), "a, b, c, d");
  EXPECT_EQ(named({"a", "b", "c", "d", "e"}), "a, b, c and 2 more");
}

}  // namespace
}  // namespace muster::bench
