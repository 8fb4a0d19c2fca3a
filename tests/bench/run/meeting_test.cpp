// SPDX-License-Identifier: Apache-2.0
#include "bench/run/meeting.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace muster::bench {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr auto kContradiction =
    "MPI says rank 0 of 1, and the launcher's variables say rank 3 of 4: was this process started "
    "by another MPI's mpirun?";

Place third() { return {.launcher = Launcher::hydra, .rank = 3, .world = 4, .mpi = true}; }

TEST(PartyTest, TakesTheMpiThatSaysTheSame) {
  auto place = third();
  EXPECT_TRUE(fits({.rank = 3, .size = 4}, place, true).value());
  EXPECT_THAT(place.evidence, IsEmpty());
}

TEST(PartyTest, DropsAnotherMpiWhereItIsNotNeeded) {
  auto place = third();
  EXPECT_FALSE(fits({.rank = 0, .size = 1}, place, false).value());
  EXPECT_THAT(place.evidence, ElementsAre(std::string("without MPI: ") + kContradiction));
}

TEST(PartyTest, RefusesAnotherMpiWhereItIsNeeded) {
  auto place = third();
  EXPECT_EQ(fits({.rank = 0, .size = 1}, place, true).error().message, kContradiction);
}

}  // namespace
}  // namespace muster::bench
