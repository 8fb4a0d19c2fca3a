// SPDX-License-Identifier: Apache-2.0
#include "bench/run/measuring.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/profile/limits/bench.hpp"

namespace muster::bench {
namespace {

constexpr std::uint64_t kGibibyte = 1ULL << 30U;

const RunFacts kGpus{.nodes = 1, .ranks = 8, .gpus = true};

Profile with_limit() {
  Profile profile;
  profile.bench->node_all_reduce.size = Bytes{16.0 * static_cast<double>(kGibibyte)};
  return profile;
}

std::uint64_t last_of(const BenchCommand& command, std::uint64_t free) {
  return sizes_of(command, with_limit(), kGpus, LeastMemory{.rank = 3, .bytes = free}).bytes.back();
}

TEST(SizesTest, EndAtTheLimitsSizeByDefault) {
  const auto sizes = sizes_of({}, with_limit(), kGpus);
  EXPECT_EQ(sizes.bytes.front(), 8U);
  EXPECT_EQ(sizes.bytes.back(), 16 * kGibibyte);
  EXPECT_EQ(sizes.remark, "");
  EXPECT_EQ(sizes_of({}, Profile{}, kGpus).bytes.back(), 8 * kGibibyte);
  EXPECT_EQ(sizes_of({}, with_limit(), RunFacts{}).bytes.back(), 64U << 20U);
}

TEST(SizesTest, EndWhereMemoryDoesByDefault) {
  EXPECT_EQ(last_of({}, 40 * kGibibyte), 16 * kGibibyte);
  EXPECT_EQ(last_of({}, 15 * kGibibyte), 4 * kGibibyte);
  EXPECT_EQ(last_of({.placement = Placement::in}, 15 * kGibibyte), 8 * kGibibyte);
  EXPECT_EQ(last_of({}, 0), 8U);
  const auto sizes =
      sizes_of({}, with_limit(), kGpus, LeastMemory{.rank = 3, .bytes = 15 * kGibibyte});
  EXPECT_EQ(sizes.remark,
            "sizes end at 4 GiB: two buffers of 16 GiB for each rank would not fit: rank 3 has 15 "
            "GiB free");
}

TEST(SizesTest, KeepTheSizesOfTheCommand) {
  BenchCommand command;
  command.max = 8 * kGibibyte;
  EXPECT_EQ(last_of(command, kGibibyte), 8 * kGibibyte);
  command.max.reset();
  command.sizes = {4 * kGibibyte};
  EXPECT_EQ(last_of(command, kGibibyte), 4 * kGibibyte);
  const auto sizes = sizes_of(command, with_limit(), kGpus, LeastMemory{.bytes = kGibibyte});
  EXPECT_EQ(sizes.remark, "");
}

Sizes sizes_among(int ranks, const BenchCommand& command) {
  return sizes_of(command, Profile{}, RunFacts{.ranks = ranks});
}

TEST(SizesTest, BeginWhereEachRankHasAnElement) {
  BenchCommand command{.collective = Collective::all_gather};
  const auto unasked = sizes_among(8, command);
  EXPECT_EQ(unasked.bytes.front(), 128U);
  EXPECT_EQ(unasked.remark, "");
  command.min = 8;
  const auto asked = sizes_among(8, command);
  EXPECT_EQ(asked.bytes, unasked.bytes);
  EXPECT_EQ(asked.remark, "sizes begin at 128 B: a smaller one has no element for each of 8 ranks");
  EXPECT_EQ(sizes_among(3, command).bytes.front(), 64U);
  command.min = 48;
  EXPECT_EQ(sizes_among(3, command).bytes.front(), 48U);
  command.min = 1;
  command.collective = Collective::all_reduce;
  command.type = Type::f64;
  EXPECT_EQ(sizes_among(8, command).bytes.front(), 8U);
}

// They are refused later, with the reason.
TEST(SizesTest, KeepListedSizesThatAreTooSmall) {
  BenchCommand command{.collective = Collective::all_gather};
  command.sizes = {8, 1024};
  EXPECT_THAT(sizes_among(8, command).bytes, ::testing::ElementsAre(8U, 1024U));
  command.sizes.clear();
  command.max = 16;
  EXPECT_THAT(sizes_among(8, command).bytes, ::testing::ElementsAre(16U));
}

TEST(SizesTest, DependOnTheRankWithTheLeastMemory) {
  const auto least = least_memory({"30", "", "20", "25"}).value();
  ASSERT_TRUE(least);
  EXPECT_EQ(least->rank, 2);
  EXPECT_EQ(least->bytes, 20U);
  EXPECT_FALSE(*least_memory({"", ""}));
  EXPECT_FALSE(least_memory({"many"}));
}

}  // namespace
}  // namespace muster::bench
