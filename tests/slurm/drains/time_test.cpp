// SPDX-License-Identifier: Apache-2.0
// A hook has so much time and no more: what cannot be seen through in it is not begun.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/slurm/drains/enforce_fixture.hpp"

namespace muster::slurm {
namespace {

using std::chrono::milliseconds;
using testing::ElementsAre;
using testing::StartsWith;
using Health = FakeCluster::Health;

constexpr std::string_view kNoTime =
    "gpu.persistence gpu3: not drained: too little of the hook's time is left to verify the drain";

class TimeTest : public EnforceTest {
 protected:
  // Every question to Slurm takes this long.
  void answer_within(milliseconds time) {
    controller.after_read = [this, time] { cluster.pass(time); };
  }

  // How long a run takes on its own clock.
  milliseconds time_of(const Report& report) {
    const auto begin = cluster.clock();
    last = run(report);
    return cluster.clock() - begin;
  }

  HookResult last;
};

TEST_F(TimeTest, ADrainThatCouldNotBeSeenThroughIsNotSent) {
  for (const auto& [time, answer] :
       {std::pair{0, 0}, std::pair{1000, 0}, std::pair{1499, 0}, std::pair{3499, 500}}) {
    budget = milliseconds(time);
    answer_within(milliseconds(answer));
    EXPECT_LE(time_of(sick()), budget);
    ASSERT_EQ(last.events.size(), 1U) << time;
    EXPECT_EQ(last.events[0].kind, "refused");
    EXPECT_EQ(last.events[0].message, kNoTime);
    EXPECT_EQ(last.decision.action, Action::nothing);
    EXPECT_TRUE(last.decision.sick);
    EXPECT_FALSE(last.drained);
    EXPECT_EQ(record(), std::nullopt);
    cluster.pass(std::chrono::hours(2));
  }
  EXPECT_EQ(count("drain"), 0);
}

TEST_F(TimeTest, ADrainThatCanBeSeenThroughIsSentAndEndsInTime) {
  for (const auto& [time, answer] : {std::pair{1500, 0}, std::pair{3500, 500}}) {
    budget = milliseconds(time);
    answer_within(milliseconds(answer));
    EXPECT_LE(time_of(sick()), budget);
    EXPECT_THAT(kinds(last), ElementsAre("drained")) << time;
    cluster.resume("n001");
    answer_within(milliseconds(0));
    run(healthy());
  }
}

TEST_F(TimeTest, ASlurmctldThatTakesTheTimeLeavesAnUnconfirmedDrain) {
  budget = milliseconds(3000);
  controller.before_drain = [&] { cluster.pass(milliseconds(2500)); };
  EXPECT_LE(time_of(sick()), budget);
  EXPECT_THAT(kinds(last), ElementsAre("trouble"));
  EXPECT_THAT(last.events[0].message,
              StartsWith("drained, and not compared with the drains of other nodes, because the "
                         "hook's time is over: "));
  EXPECT_TRUE(last.drained);
  EXPECT_TRUE(last.out_of_reach);
  ASSERT_TRUE(record());
  EXPECT_FALSE(record()->settled);
  controller.before_drain = {};
  cluster.pass(kInterval);
  EXPECT_THAT(kinds(run(sick())), ElementsAre("kept"));
  EXPECT_TRUE(record()->settled);
}

TEST_F(TimeTest, ADrainThatIsOneTooManyIsTakenBackWithoutTheWholeWait) {
  budget = milliseconds(3000);
  controller.before_drain = [&] {
    cluster.pass(milliseconds(2500));
    cluster.drain("n002", kReason);
    cluster.node("n002").since = cluster.now() - std::chrono::seconds(5);
  };
  // It is known already: no other drain can change that.
  EXPECT_LE(time_of(sick()), budget);
  EXPECT_THAT(kinds(last), ElementsAre("undone"));
  EXPECT_EQ(cluster.node("n001").state, "idle");
}

TEST_F(TimeTest, ADrainThatCameLateIsComparedAsFarAsTheTimeAllows) {
  controller.before_drain = [&] { cluster.be(Health::hung); };
  run(sick());
  controller.before_drain = {};
  cluster.be(Health::well);
  budget = milliseconds(400);
  EXPECT_LE(time_of(sick()), budget);
  EXPECT_THAT(kinds(last), ElementsAre("kept"));
}

}  // namespace
}  // namespace muster::slurm
