// SPDX-License-Identifier: Apache-2.0
#include "bench/group/trouble.hpp"

#include <algorithm>

#include "tests/support/matchers.hpp"

namespace muster::bench {
namespace {

const Stage kOverdue{.number = 5, .phase = "all_reduce", .limit = std::chrono::seconds(10)};

RankStage at(int rank, std::uint64_t number, bool waits) {
  return {.rank = rank,
          .name = "n",
          .stage =
              Stage{.number = number, .waits = waits, .phase = number < 5 ? "fill" : "all_reduce"}};
}

Stage counted_stage(std::uint64_t started, std::uint64_t finished) {
  auto stage = kOverdue;
  stage.counted = true;
  stage.unit = "operation";
  stage.started = started;
  stage.finished = finished;
  return stage;
}

RankStage counted(int rank, std::uint64_t started, std::uint64_t finished) {
  return {.rank = rank, .name = "n", .stage = counted_stage(started, finished)};
}

TEST(LateTroubleTest, BlamesTheRanksThatKeepOthersWaiting) {
  struct Case {
    std::string_view name;
    Stage overdue;
    std::vector<RankStage> ranks;
    std::vector<int> blamed;
    std::string what = {};
  };
  auto waits = counted(0, 25, 25);
  waits.stage->waits = true;
  const auto operation = counted_stage(0, 0);
  for (const auto& [name, overdue, ranks, blamed, what] : {
           Case{"works while others wait",
                kOverdue,
                {at(0, 5, true), at(1, 5, false), at(2, 5, true)},
                {1},
                "the phase \"all_reduce\" takes longer than 10 s: rank 1 (n) keeps the others "
                "waiting in it"},
           Case{"not one that is behind and waits",
                kOverdue,
                {at(0, 4, true), at(1, 5, true), at(2, 4, false)},
                {2}},
           Case{"the furthest behind if all wait",
                kOverdue,
                {at(0, 5, true), at(1, 3, true), at(2, 4, true)},
                {1}},
           Case{"a silent one before one that waits",
                kOverdue,
                {at(0, 5, true), {.rank = 1, .name = "n"}, at(2, 4, true)},
                {1},
                "rank 1 (n) does not answer"},
           Case{"only a silent one if others wait for it in earlier phases",
                kOverdue,
                {at(0, 4, false), {.rank = 1, .name = "n"}, at(2, 5, true), at(3, 3, false)},
                {1},
                "rank 1 (n) does not answer"},
           Case{"only a silent one if others are in the same operation",
                operation,
                {counted(0, 4, 3), {.rank = 1, .name = "n"}, counted(2, 5, 4)},
                {1}},
           Case{"none if all are equally far", kOverdue, {at(0, 5, false), at(1, 5, false)}, {}},
           Case{"nor if all wait", kOverdue, {at(0, 5, true), at(1, 5, true)}, {}},
           Case{"has not started an operation",
                operation,
                {counted(0, 4, 3), counted(1, 3, 3), counted(2, 4, 3)},
                {1},
                "an operation of the phase \"all_reduce\" takes longer than 10 s: rank 1 (n) has "
                "not started operation 4"},
           Case{"has not finished an operation",
                operation,
                {counted(0, 4, 4), counted(1, 4, 3), counted(2, 5, 4)},
                {1},
                "rank 1 (n) has started operation 4 and not finished it"},
           Case{"the slowest of those at work if one waits",
                operation,
                {waits, counted(1, 25, 24), counted(2, 25, 25)},
                {1}},
           Case{"all ranks are in the same operation",
                operation,
                {counted(0, 4, 3), counted(1, 4, 3)},
                {},
                "each rank has started operation 4 and not"},
       }) {
    const auto trouble = late_trouble(overdue, ranks);
    EXPECT_EQ(trouble.ranks, blamed) << name;
    EXPECT_EQ(trouble.ranks.size() + trouble.arrived.size(), ranks.size()) << name;
    EXPECT_THAT(trouble.what, HasSubstr(what)) << name;
  }
}

TEST(LateTroubleTest, DescribesOnlyAFewOfManyRanks) {
  std::vector<RankStage> answers{at(0, 5, false)};
  for (int rank = 1; rank < 20; ++rank) answers.push_back(at(rank, 4, false));
  const auto trouble = late_trouble(kOverdue, answers);
  EXPECT_EQ(trouble.ranks.size(), 19U);
  EXPECT_THAT(trouble.what, HasSubstr("rank 8 (n) is still in the phase \"fill\", and 11 more"));
}

TEST(TroubleTest, RoundTrips) {
  const Trouble trouble{.kind = Trouble::Kind::late,
                        .phase = {"start of nccl", Part::starting},
                        .what = "why",
                        .ranks = {3, 4},
                        .arrived = {0, 1, 2},
                        .broken = true,
                        .explained = true};
  EXPECT_EQ(read_trouble(to_text(trouble)), trouble);
}

TEST(TroubleTest, IsNotReadFromTruncatedText) {
  const auto trouble = to_text(Trouble{.phase = "p", .what = "w", .ranks = {1}});
  const auto stage = to_text(kOverdue);
  for (std::size_t length = 0; length < std::min(trouble.size(), stage.size()); ++length) {
    EXPECT_FALSE(read_trouble(std::string_view(trouble).substr(0, length)));
    EXPECT_FALSE(read_stage(std::string_view(stage).substr(0, length)));
  }
  EXPECT_FALSE(read_trouble(trouble + "x"));
  EXPECT_FALSE(read_stage(stage + "x"));
  EXPECT_FALSE(read_trouble(R"({"kind":99,"phase":{"name":"","part":0},"what":"","ranks":[],)"
                            R"("arrived":[],"broken":false,"explained":false})"));
}

TEST(TroubleTest, FormatsRanksAndDurations) {
  EXPECT_EQ(ranks_in_words({}), "no rank");
  EXPECT_EQ(ranks_in_words({3}), "rank 3");
  EXPECT_EQ(ranks_in_words({3, 5, 6, 7}), "ranks 3,5-7");
  EXPECT_EQ(in_words(std::chrono::milliseconds(150)), "150 ms");
  EXPECT_EQ(in_words(std::chrono::milliseconds(2500)), "2.5 s");
}

}  // namespace
}  // namespace muster::bench
