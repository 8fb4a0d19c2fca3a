// SPDX-License-Identifier: Apache-2.0
#include "bench/collectives/shares.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace muster::bench {
namespace {

using ::testing::ElementsAre;

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
