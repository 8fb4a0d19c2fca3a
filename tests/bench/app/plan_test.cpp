// SPDX-License-Identifier: Apache-2.0
#include "bench/app/plan.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace muster::bench {
namespace {

constexpr std::uint64_t kGibibyte = 1ULL << 30U;

Profile with_limit() {
  Profile profile;
  profile.bench.node_all_reduce.size = Bytes{16.0 * static_cast<double>(kGibibyte)};
  return profile;
}

std::uint64_t last_of(const BenchCommand& command, std::uint64_t free) {
  return sizes_of(command, with_limit(), 1, true, Room{.rank = 3, .bytes = free}).bytes.back();
}

TEST(PlanTest, SizesGoUpToTheLimitsOwnWhereNobodyAsksForOthers) {
  const auto sizes = sizes_of({}, with_limit(), 1, true);
  EXPECT_EQ(sizes.bytes.front(), 8U);
  EXPECT_EQ(sizes.bytes.back(), 16 * kGibibyte);
  EXPECT_EQ(sizes.remark, "");
  EXPECT_EQ(sizes_of({}, Profile{}, 1, true).bytes.back(), 8 * kGibibyte);
  EXPECT_EQ(sizes_of({}, with_limit(), 1, false).bytes.back(), 64U << 20U);
}

TEST(PlanTest, SizesThatNobodyAskedForEndWhereMemoryDoes) {
  EXPECT_EQ(last_of({}, 40 * kGibibyte), 16 * kGibibyte);
  EXPECT_EQ(last_of({}, 15 * kGibibyte), 4 * kGibibyte);
  EXPECT_EQ(last_of({.placement = Placement::in}, 15 * kGibibyte), 8 * kGibibyte);
  EXPECT_EQ(last_of({}, 0), 8U);
  const auto sizes = sizes_of({}, with_limit(), 1, true, Room{.rank = 3, .bytes = 15 * kGibibyte});
  EXPECT_EQ(sizes.remark,
            "sizes end at 4 GiB: two buffers of 16 GiB for each rank would not fit: rank 3 has 15 "
            "GiB free");
}

TEST(PlanTest, SizesThatAreAskedForAreRunOrRefused) {
  BenchCommand command;
  command.max = 8 * kGibibyte;
  EXPECT_EQ(last_of(command, kGibibyte), 8 * kGibibyte);
  command.max.reset();
  command.sizes = {4 * kGibibyte};
  EXPECT_EQ(last_of(command, kGibibyte), 4 * kGibibyte);
  const auto sizes = sizes_of(command, with_limit(), 1, true, Room{.bytes = kGibibyte});
  EXPECT_EQ(sizes.remark, "");
}

TEST(PlanTest, TheRankWithTheLeastRoomCounts) {
  const auto room = least_room({"30", "", "20", "25"});
  ASSERT_TRUE(room);
  ASSERT_TRUE(*room);
  EXPECT_EQ((*room)->rank, 2);
  EXPECT_EQ((*room)->bytes, 20U);
  EXPECT_FALSE(*least_room({"", ""}));
  EXPECT_FALSE(least_room({"many"}));
}

}  // namespace
}  // namespace muster::bench
