// SPDX-License-Identifier: Apache-2.0
#include "bench/run/rank_backend.hpp"

#include <fmt/format.h>

#include "tests/bench/group/harness.hpp"
#include "tests/support/matchers.hpp"

namespace muster::bench {
namespace {

// Two nodes of four ranks each, dealt out in turn by the launcher.
const std::vector<RankPlace> kPlaces{{0, 0}, {1, 0}, {0, 1}, {1, 1},
                                     {0, 2}, {1, 2}, {0, 3}, {1, 3}};
const std::vector<std::string> kHosts{"a", "b"};

TEST(SplitTest, ByNodeJoinsTheRanksOfEachNode) {
  const auto parts = parts_of({.by = Split::By::node}, kPlaces, kHosts);
  ASSERT_TRUE(parts);
  ASSERT_THAT(*parts, SizeIs(2));
  EXPECT_EQ((*parts)[0].name, "a");
  EXPECT_THAT((*parts)[0].ranks, ElementsAre(0, 2, 4, 6));
  EXPECT_EQ((*parts)[1].name, "b");
  EXPECT_THAT((*parts)[1].ranks, ElementsAre(1, 3, 5, 7));
  EXPECT_EQ(part_with(*parts, 5), 1U);
}

TEST(SplitTest, ByRailJoinsTheSameRankOfEachNode) {
  const auto parts = parts_of({.by = Split::By::rail}, kPlaces, kHosts);
  ASSERT_TRUE(parts);
  ASSERT_THAT(*parts, SizeIs(4));
  EXPECT_EQ((*parts)[3].name, "rail3");
  EXPECT_THAT((*parts)[3].ranks, ElementsAre(6, 7));
}

TEST(SplitTest, ByCountJoinsConsecutiveRanks) {
  const auto parts = parts_of({.by = Split::By::count, .count = 4}, kPlaces, kHosts);
  ASSERT_TRUE(parts);
  ASSERT_THAT(*parts, SizeIs(2));
  EXPECT_EQ((*parts)[1].name, "ranks 4-7");
}

TEST(SplitTest, RefusesPartsOfOneRankAndASinglePart) {
  EXPECT_EQ(parts_of({.by = Split::By::count, .count = 7}, kPlaces, kHosts).error().message,
            "--split: rank 7 would be alone, and one rank has no bandwidth");
  EXPECT_EQ(parts_of({.by = Split::By::count, .count = 8}, kPlaces, kHosts).error().message,
            "--split: all 8 ranks would be together");
  const std::vector<RankPlace> one_node{{0, 0}, {0, 1}};
  EXPECT_EQ(parts_of({.by = Split::By::rail}, one_node, {"a"}).error().message,
            "--split: rank 0 would be alone, and one rank has no bandwidth");
}

TEST(IntroductionTest, EveryRankKnowsRankZeroAndTheOthersHosts) {
  const Agreement agreed{.hosts = {"n0", "n1"}, .places = {{0, 0}, {0, 1}, {1, 0}}};
  const auto members = members_known_from(agreed, {.rank = 0, .host = "n0", .device_id = "gpu0"});
  ASSERT_THAT(members, SizeIs(3));
  EXPECT_EQ(members[0].device_id, "gpu0");
  EXPECT_EQ(members[1].host, "n0");
  EXPECT_EQ(members[2].rank, 2);
  EXPECT_EQ(members[2].host, "n1");
}

// Bytes of any value, as NCCL's unique ids are.
TEST(SplitTest, ExchangesTextsWithinAPartOnly) {
  const std::vector<RankPart> parts{{"even", {0, 2}}, {"odd", {1, 3}}};
  const std::string bytes("\0\xff\x80 id", 6);
  const auto ranks = run_threads({.world = 4}, [&](Group& group) {
    const auto exchange = exchange_within(group, parts);
    const auto gathered = exchange.gather(fmt::format("{}{}", bytes, group.rank()));
    ASSERT_TRUE(gathered);
    if (group.rank() == 1) {
      EXPECT_THAT(*gathered, ElementsAre(fmt::format("{}1", bytes), fmt::format("{}3", bytes)));
    } else if (group.rank() > 1) {
      EXPECT_THAT(*gathered, IsEmpty());
    }
    const auto sent = exchange.broadcast(fmt::format("{}{}", bytes, group.rank()));
    ASSERT_TRUE(sent);
    EXPECT_EQ(*sent, fmt::format("{}{}", bytes, group.rank() % 2));
  });
  for (const auto& rank : ranks) EXPECT_FALSE(rank.trouble);
}

}  // namespace
}  // namespace muster::bench
