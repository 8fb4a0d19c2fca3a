// SPDX-License-Identifier: Apache-2.0
#include "bench/collectives/operation.hpp"

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tests/bench/collectives/every.hpp"
#include "tests/support/matchers.hpp"

namespace muster::bench {

namespace {

TEST(OperationTest, HasDistinctNames) {
  std::set<std::string_view> words;
  for (const auto type : every_type()) EXPECT_TRUE(words.insert(to_string(type)).second);
  for (const auto reduction : every_reduction(Type::f32)) {
    EXPECT_TRUE(words.insert(to_string(reduction)).second);
  }
}

TEST(OperationTest, HasTheTypeNamesOfNcclTests) {
  EXPECT_EQ(table_name(Type::f32), "float");
  EXPECT_EQ(table_name(Type::f64), "double");
  EXPECT_EQ(table_name(Type::f16), "half");
  EXPECT_EQ(table_name(Type::bf16), "bfloat16");
  EXPECT_EQ(table_name(Type::i32), "int32");
  EXPECT_EQ(table_name(Type::u8), "uint8");
  EXPECT_EQ(table_name(Type::i64), "int64");
  EXPECT_EQ(table_name(Type::f8e4m3), "f8e4m3");
}

// The shape's members are in order: count, send, receive, bytes, send_at, receive_at.
struct ShapeCase {
  Operation operation;
  int rank;
  int ranks;
  Shape shape;
};

class ShapeTest : public ::testing::TestWithParam<ShapeCase> {};

TEST_P(ShapeTest, CountsAsNcclTestsDoes) {
  const auto& [operation, rank, ranks, shape] = GetParam();
  EXPECT_EQ(shape_of(operation, rank, ranks), shape);
}

Operation of(Collective collective, std::uint64_t bytes, Type type = Type::f32, int root = 0) {
  return {.collective = collective, .type = type, .root = root, .bytes = bytes};
}

INSTANTIATE_TEST_SUITE_P(
    Whole, ShapeTest,
    ::testing::Values(ShapeCase{of(Collective::all_reduce, 1024), 1, 4, {256, 256, 256, 1024}},
                      // A partial element is dropped.
                      ShapeCase{of(Collective::all_reduce, 23, Type::f64), 0, 2, {2, 2, 2, 16}},
                      ShapeCase{of(Collective::sendrecv, 6, Type::bf16), 0, 2, {3, 3, 3, 6}},
                      ShapeCase{of(Collective::broadcast, 64, Type::u8, 1), 1, 2, {64, 64, 64, 64}},
                      ShapeCase{of(Collective::broadcast, 64, Type::u8, 1), 0, 2, {64, 0, 64, 64}},
                      ShapeCase{of(Collective::reduce, 64, Type::i32, 1), 1, 2, {16, 16, 16, 64}},
                      ShapeCase{of(Collective::reduce, 64, Type::i32, 1), 0, 2, {16, 16, 0, 64}}));

INSTANTIATE_TEST_SUITE_P(
    InParts, ShapeTest,
    ::testing::Values(
        // 256 elements: 85 for each of 3 ranks, rounded down to 16 bytes.
        ShapeCase{of(Collective::all_gather, 1024), 2, 3, {84, 84, 252, 1008, 168, 0}},
        ShapeCase{of(Collective::reduce_scatter, 1024), 2, 3, {84, 252, 84, 1008, 0, 168}},
        ShapeCase{of(Collective::alltoall, 100, Type::u8), 1, 3, {32, 96, 96, 96}},
        // Parts of 1, 2 and 3 units of 16 bytes.
        ShapeCase{of(Collective::alltoallv, 100, Type::u8), 1, 3, {16, 96, 96, 96}},
        ShapeCase{of(Collective::hypercube, 1024), 3, 4, {64, 64, 256, 1024, 192, 0}},
        ShapeCase{of(Collective::gather, 100, Type::u8, 1), 1, 3, {32, 32, 96, 96, 32, 0}},
        ShapeCase{of(Collective::gather, 100, Type::u8, 1), 2, 3, {32, 32, 0, 96}},
        ShapeCase{of(Collective::scatter, 100, Type::u8, 1), 1, 3, {32, 96, 32, 96, 0, 32}},
        ShapeCase{of(Collective::scatter, 100, Type::u8, 1), 0, 3, {32, 0, 32, 96}},
        // Too small for a part of 16 bytes.
        ShapeCase{of(Collective::all_gather, 16), 1, 2, {}},
        ShapeCase{of(Collective::alltoall, 31, Type::f64), 1, 2, {}}));

INSTANTIATE_TEST_SUITE_P(
    InPairs, ShapeTest,
    ::testing::Values(ShapeCase{of(Collective::pingpong, 64), 3, 4, {16, 16, 16, 64}},
                      ShapeCase{of(Collective::uniband, 64), 1, 4, {16, 16, 0, 64}},
                      ShapeCase{of(Collective::uniband, 64), 2, 4, {16, 0, 16, 64}},
                      ShapeCase{of(Collective::barrier, 64), 1, 4, {}}));

TEST(OperationTest, RunsPairsOnlyAmongAnEvenNumberAndOutOfPlace) {
  for (const auto collective : {Collective::pingpong, Collective::uniband, Collective::biband}) {
    EXPECT_TRUE(can_run(of(collective, 8), 4));
    const auto odd = can_run(of(collective, 8), 3);
    ASSERT_FALSE(odd);
    EXPECT_NE(odd.error().message.find("even number of ranks, got 3"), std::string::npos);
    EXPECT_FALSE(can_run({.collective = collective, .in_place = true, .bytes = 8}, 4));
  }
  EXPECT_TRUE(can_run(of(Collective::barrier, 0), 3));
  EXPECT_FALSE(can_run({.collective = Collective::barrier, .in_place = true}, 4));
  EXPECT_TRUE(can_run({.collective = Collective::all_reduce, .in_place = true, .bytes = 8}, 3));
}

TEST(OperationTest, RunsHypercubeOnlyAmongAPowerOfTwo) {
  for (const int ranks : {1, 2, 4, 1024}) EXPECT_TRUE(can_run(of(Collective::hypercube, 8), ranks));
  EXPECT_TRUE(can_run({.collective = Collective::hypercube, .in_place = true, .bytes = 8}, 4));
  const auto six = can_run(of(Collective::hypercube, 8), 6);
  ASSERT_FALSE(six);
  EXPECT_EQ(six.error().message, "hypercube needs 2, 4, 8 … ranks, got 6");
}

TEST(OperationTest, RunsAlltoallvOnlyOutOfPlace) {
  EXPECT_TRUE(can_run(of(Collective::alltoallv, 8), 3));
  EXPECT_FALSE(can_run({.collective = Collective::alltoallv, .in_place = true, .bytes = 8}, 3));
}

TEST(OperationTest, HasMessages) {
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

TEST(OperationTest, HasTheBusFactorsOfNcclTests) {
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

TEST(OperationTest, ReducesOrHasARoot) {
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

std::vector<std::uint64_t> counts_of(int rank, int ranks, Stretch (*part)(int, int, int)) {
  std::vector<std::uint64_t> counts;
  for (int peer = 0; peer < ranks; ++peer) counts.push_back(part(peer, rank, ranks).count);
  return counts;
}

TEST(SharesTest, GrowWithTheDistanceInTurnsOfFour) {
  EXPECT_THAT(counts_of(0, 6, sent_to), ElementsAre(1, 2, 3, 4, 1, 2));
  EXPECT_THAT(counts_of(2, 6, sent_to), ElementsAre(1, 2, 1, 2, 3, 4));
  EXPECT_THAT(counts_of(2, 6, received_from), ElementsAre(3, 2, 1, 2, 1, 4));
}

TEST(SharesTest, AreContiguousAndMatchThoseOfTheirPeers) {
  for (const int ranks : {1, 2, 3, 4, 5, 8, 11, 64, 100}) {
    for (int rank = 0; rank < ranks; ++rank) {
      std::uint64_t sent = 0;
      std::uint64_t received = 0;
      for (int peer = 0; peer < ranks; ++peer) {
        const auto out = sent_to(peer, rank, ranks);
        const auto in = received_from(peer, rank, ranks);
        ASSERT_EQ(out.first, sent) << rank << " to " << peer << " of " << ranks;
        ASSERT_EQ(in.first, received) << rank << " from " << peer << " of " << ranks;
        ASSERT_EQ(out.count, received_from(rank, peer, ranks).count);
        sent += out.count;
        received += in.count;
      }
      ASSERT_EQ(sent, shares_of(ranks));
      ASSERT_EQ(received, shares_of(ranks));
    }
  }
}

}  // namespace
}  // namespace muster::bench
