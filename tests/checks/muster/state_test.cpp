// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checks/catalogue.hpp"
#include "tests/checks/ask.hpp"
#include "tests/support/printers.hpp"

namespace muster::muster_state_test {
namespace {

using ::testing::ElementsAre;

Findings judged(Earlier earlier) {
  Snapshot snapshot;
  snapshot.earlier = std::move(earlier);
  return ask(checks::muster_state::check, snapshot, Profile{});
}

TEST(MusterStateTest, SkipsWithTheReasonWhenTheStateWasPutAside) {
  EXPECT_THAT(judged({.note = "state.json is not a state file; put aside as state.json.bad"}),
              ElementsAre(skips()));
}

TEST(MusterStateTest, SkipsTheFirstRunOfABoot) { EXPECT_THAT(judged({}), ElementsAre(skips())); }

TEST(MusterStateTest, PassesOnceThereIsAnEarlierRun) {
  EXPECT_THAT(judged({.last_uptime_s = 12}), ElementsAre(passes()));
}

}  // namespace
}  // namespace muster::muster_state_test
