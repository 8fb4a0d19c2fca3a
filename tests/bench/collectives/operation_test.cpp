// SPDX-License-Identifier: Apache-2.0
#include "bench/collectives/operation.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tests/bench/collectives/every.hpp"

namespace muster::bench {

namespace {

TEST(OperationTest, ReadsTheNamesItWrites) {
  for (int i = 0; i < static_cast<int>(kCollectives); ++i) {
    const auto collective = static_cast<Collective>(i);
    EXPECT_EQ(parse_collective(to_string(collective)), collective);
  }
  EXPECT_FALSE(parse_collective("allreduce"));
  std::set<std::string_view> words;
  for (const auto type : every_type()) EXPECT_TRUE(words.insert(to_string(type)).second);
  for (const auto reduction : every_reduction(Type::f32)) {
    EXPECT_TRUE(words.insert(to_string(reduction)).second);
  }
}

TEST(OperationTest, NamesTypesAsTheTableDoes) {
  EXPECT_EQ(table_name(Type::f32), "float");
  EXPECT_EQ(table_name(Type::f64), "double");
  EXPECT_EQ(table_name(Type::f16), "half");
  EXPECT_EQ(table_name(Type::bf16), "bfloat16");
  EXPECT_EQ(table_name(Type::i32), "int32");
  EXPECT_EQ(table_name(Type::u8), "uint8");
  EXPECT_EQ(table_name(Type::i64), "int64");
  EXPECT_EQ(table_name(Type::f8e4m3), "f8e4m3");
}

struct ShapeCase {
  Operation operation;
  int rank;
  int ranks;
  Shape shape;
};

class ShapeTest : public ::testing::TestWithParam<ShapeCase> {};

TEST_P(ShapeTest, CountsAsNcclTestsDoes) {
  const auto& [operation, rank, ranks, shape] = GetParam();
  const auto counted = shape_of(operation, rank, ranks);
  EXPECT_EQ(counted.count, shape.count);
  EXPECT_EQ(counted.send, shape.send);
  EXPECT_EQ(counted.receive, shape.receive);
  EXPECT_EQ(counted.bytes, shape.bytes);
  EXPECT_EQ(counted.send_at, shape.send_at);
  EXPECT_EQ(counted.receive_at, shape.receive_at);
}

Operation of(Collective collective, std::uint64_t bytes, Type type = Type::f32, int root = 0) {
  return {.collective = collective, .type = type, .root = root, .bytes = bytes};
}

INSTANTIATE_TEST_SUITE_P(
    Whole, ShapeTest,
    ::testing::Values(ShapeCase{of(Collective::all_reduce, 1024),
                                1,
                                4,
                                {.count = 256, .send = 256, .receive = 256, .bytes = 1024}},
                      // Bytes that make no whole element are left out.
                      ShapeCase{of(Collective::all_reduce, 23, Type::f64),
                                0,
                                2,
                                {.count = 2, .send = 2, .receive = 2, .bytes = 16}},
                      ShapeCase{of(Collective::sendrecv, 6, Type::bf16),
                                0,
                                2,
                                {.count = 3, .send = 3, .receive = 3, .bytes = 6}},
                      ShapeCase{of(Collective::broadcast, 64, Type::u8, 1),
                                1,
                                2,
                                {.count = 64, .send = 64, .receive = 64, .bytes = 64}},
                      ShapeCase{of(Collective::broadcast, 64, Type::u8, 1),
                                0,
                                2,
                                {.count = 64, .send = 0, .receive = 64, .bytes = 64}},
                      ShapeCase{of(Collective::reduce, 64, Type::i32, 1),
                                1,
                                2,
                                {.count = 16, .send = 16, .receive = 16, .bytes = 64}},
                      ShapeCase{of(Collective::reduce, 64, Type::i32, 1),
                                0,
                                2,
                                {.count = 16, .send = 16, .receive = 0, .bytes = 64}}));

INSTANTIATE_TEST_SUITE_P(
    InParts, ShapeTest,
    ::testing::Values(
        // 256 elements, 85 for each of 3 ranks, of which whole 16 bytes are 84.
        ShapeCase{of(Collective::all_gather, 1024),
                  2,
                  3,
                  {.count = 84, .send = 84, .receive = 252, .bytes = 1008, .send_at = 168}},
        ShapeCase{of(Collective::reduce_scatter, 1024),
                  2,
                  3,
                  {.count = 84, .send = 252, .receive = 84, .bytes = 1008, .receive_at = 168}},
        ShapeCase{of(Collective::alltoall, 100, Type::u8),
                  1,
                  3,
                  {.count = 32, .send = 96, .receive = 96, .bytes = 96}},
        // Parts of 1, 2 and 3 units of 16 bytes.
        ShapeCase{of(Collective::alltoallv, 100, Type::u8),
                  1,
                  3,
                  {.count = 16, .send = 96, .receive = 96, .bytes = 96}},
        ShapeCase{of(Collective::hypercube, 1024),
                  3,
                  4,
                  {.count = 64, .send = 64, .receive = 256, .bytes = 1024, .send_at = 192}},
        ShapeCase{of(Collective::gather, 100, Type::u8, 1),
                  1,
                  3,
                  {.count = 32, .send = 32, .receive = 96, .bytes = 96, .send_at = 32}},
        ShapeCase{of(Collective::gather, 100, Type::u8, 1),
                  2,
                  3,
                  {.count = 32, .send = 32, .receive = 0, .bytes = 96}},
        ShapeCase{of(Collective::scatter, 100, Type::u8, 1),
                  1,
                  3,
                  {.count = 32, .send = 96, .receive = 32, .bytes = 96, .receive_at = 32}},
        ShapeCase{of(Collective::scatter, 100, Type::u8, 1),
                  0,
                  3,
                  {.count = 32, .send = 0, .receive = 32, .bytes = 96}},
        // As nccl-tests' first rows: too small for a part of 16 bytes.
        ShapeCase{of(Collective::all_gather, 16), 1, 2, {}},
        ShapeCase{of(Collective::alltoall, 31, Type::f64), 1, 2, {}}));

INSTANTIATE_TEST_SUITE_P(
    InPairs, ShapeTest,
    ::testing::Values(ShapeCase{of(Collective::pingpong, 64),
                                3,
                                4,
                                {.count = 16, .send = 16, .receive = 16, .bytes = 64}},
                      ShapeCase{of(Collective::uniband, 64),
                                1,
                                4,
                                {.count = 16, .send = 16, .receive = 0, .bytes = 64}},
                      ShapeCase{of(Collective::uniband, 64),
                                2,
                                4,
                                {.count = 16, .send = 0, .receive = 16, .bytes = 64}},
                      ShapeCase{of(Collective::barrier, 64), 1, 4, {}}));

TEST(OperationTest, PairsNeedAnEvenNumberOfRanksAndTwoBuffers) {
  for (const auto collective : {Collective::pingpong, Collective::uniband, Collective::biband}) {
    EXPECT_TRUE(can_run(of(collective, 8), 4));
    const auto odd = can_run(of(collective, 8), 3);
    ASSERT_FALSE(odd);
    EXPECT_NE(odd.error().message.find("3 is no even number"), std::string::npos);
    EXPECT_FALSE(can_run({.collective = collective, .in_place = true, .bytes = 8}, 4));
  }
  EXPECT_TRUE(can_run(of(Collective::barrier, 0), 3));
  EXPECT_FALSE(can_run({.collective = Collective::barrier, .in_place = true}, 4));
  EXPECT_TRUE(can_run({.collective = Collective::all_reduce, .in_place = true, .bytes = 8}, 3));
}

TEST(OperationTest, AHypercubeNeedsAPowerOfTwo) {
  for (const int ranks : {1, 2, 4, 1024}) EXPECT_TRUE(can_run(of(Collective::hypercube, 8), ranks));
  EXPECT_TRUE(can_run({.collective = Collective::hypercube, .in_place = true, .bytes = 8}, 4));
  const auto six = can_run(of(Collective::hypercube, 8), 6);
  ASSERT_FALSE(six);
  EXPECT_EQ(six.error().message,
            "hypercube runs among 2, 4, 8 ranks and so on, and 6 is no power of two");
}

TEST(OperationTest, UnequalPartsAreNotExchangedInPlace) {
  EXPECT_TRUE(can_run(of(Collective::alltoallv, 8), 3));
  EXPECT_FALSE(can_run({.collective = Collective::alltoallv, .in_place = true, .bytes = 8}, 3));
}

TEST(OperationTest, CountsTheMessagesOfAnOperation) {
  EXPECT_EQ(messages_of(of(Collective::all_reduce, 8)), 1);
  EXPECT_EQ(messages_of(of(Collective::pingpong, 8)), 2);
  for (const auto collective : {Collective::uniband, Collective::biband}) {
    EXPECT_EQ(messages_of(of(collective, 8)), 64);
    EXPECT_EQ(messages_of(of(collective, 1U << 20U)), 64);
    EXPECT_EQ(messages_of(of(collective, 4U << 20U)), 16);
    EXPECT_EQ(messages_of(of(collective, std::uint64_t{1} << 30U)), 4);
  }
}

TEST(OperationTest, HasNoBusBandwidthForASingleRank) {
  for (int i = 0; i < static_cast<int>(kCollectives); ++i) {
    EXPECT_EQ(bus_factor(static_cast<Collective>(i), 1), 0);
  }
}

TEST(OperationTest, CountsBusBandwidthAsTheTableOfCollectives) {
  EXPECT_EQ(bus_factor(Collective::all_reduce, 16), 1.875);
  for (const auto collective :
       {Collective::all_gather, Collective::reduce_scatter, Collective::alltoall,
        Collective::hypercube, Collective::gather, Collective::scatter}) {
    EXPECT_EQ(bus_factor(collective, 16), 0.9375);
  }
  EXPECT_EQ(bus_factor(Collective::alltoallv, 16), 0.975);  // 39 of 40 units go to others
  for (const auto collective : {Collective::broadcast, Collective::reduce, Collective::sendrecv}) {
    EXPECT_EQ(bus_factor(collective, 16), 1);
  }
}

TEST(OperationTest, KnowsWhatReducesAndWhatHasARoot) {
  std::vector<std::string> reducing;
  std::vector<std::string> rooted;
  for (int i = 0; i < static_cast<int>(kCollectives); ++i) {
    const auto collective = static_cast<Collective>(i);
    if (reduces(collective)) reducing.emplace_back(to_string(collective));
    if (has_root(collective)) rooted.emplace_back(to_string(collective));
  }
  EXPECT_EQ(reducing, (std::vector<std::string>{"all_reduce", "reduce_scatter", "reduce"}));
  EXPECT_EQ(rooted, (std::vector<std::string>{"broadcast", "reduce", "gather", "scatter"}));
}

}  // namespace
}  // namespace muster::bench
