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

TEST(AgreementTest, CountsTheRanksOfEachHost) {
  const auto agreed = agreement_of({on("b"), on("a"), on("b"), on("b"), on("a")});
  EXPECT_EQ(agreed.complaint, "");
  EXPECT_THAT(agreed.hosts, ElementsAre("b", "a"));
  EXPECT_THAT(agreed.local_ranks, ElementsAre(0, 0, 1, 2, 1));
}

TEST(AgreementTest, NamesTheRankWithOtherArguments) {
  auto other = on("b");
  other.asked = "broadcast";
  EXPECT_EQ(
      agreement_of({on("a"), on("a"), other}).complaint,
      "rank 2 on b was started with broadcast where rank 0 was with all_reduce: all ranks need "
      "the same arguments");
}

TEST(AgreementTest, NamesTheRankWithAnotherBackend) {
  auto other = on("b");
  other.backend = "tcp";
  EXPECT_EQ(agreement_of({on("a"), other}).complaint,
            "rank 0 on a would run the back end nccl and rank 1 on b tcp: is a GPU or a library "
            "missing on one of them? --backend decides");
}

TEST(AgreementTest, NamesEachNodeOfAnotherKindOnce) {
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

TEST(AgreementTest, NamesAFewHostsAndCountsTheRest) {
  EXPECT_EQ(named({}), "");
  EXPECT_EQ(named({"a"}), "a");
  EXPECT_EQ(named({"a", "b", "c", "d"}), "a, b, c, d");
  EXPECT_EQ(named({"a", "b", "c", "d", "e"}), "a, b, c and 2 more");
}

}  // namespace
}  // namespace muster::bench
