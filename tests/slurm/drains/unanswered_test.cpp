// SPDX-License-Identifier: Apache-2.0

#include <gmock/gmock.h>

#include "tests/slurm/drains/enforce_fixture.hpp"

namespace muster::slurm {
namespace {

using std::chrono::milliseconds;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::StartsWith;
using Health = FakeCluster::Health;

TEST_F(EnforceTest, AHealthyNodeThatCouldNotAskAsksAgain) {
  cluster.be(Health::dead);
  EXPECT_THAT(run(healthy()).events, IsEmpty());
  cluster.be(Health::well);
  run(healthy());
  run(healthy());
  EXPECT_EQ(count("read"), 2);
}

TEST_F(EnforceTest, ADeadSlurmctldIsReported) {
  cluster.be(Health::dead);
  const auto enforced = run(sick());
  EXPECT_TRUE(enforced.decision.sick);
  EXPECT_TRUE(enforced.out_of_reach);
  EXPECT_FALSE(enforced.drained);
  EXPECT_THAT(kinds(enforced), ElementsAre("refused"));
  EXPECT_EQ(enforced.events[0].message,
            "gpu.persistence gpu3: cannot reach Slurm: sinfo ended with status 1: Unable to "
            "contact slurm "
            "controller");
  EXPECT_EQ(record(), std::nullopt);
  cluster.be(Health::well);
  EXPECT_TRUE(run(sick()).drained);
}

TEST_F(EnforceTest, ReportsWhySlurmCannotBeAsked) {
  auto services = services_of("n001");
  services.controller = nullptr;
  services.trouble = "no slurm.conf";
  const auto enforced = run_with(sick(), "n001", services);
  EXPECT_TRUE(enforced.out_of_reach);
  ASSERT_EQ(enforced.events.size(), 1);
  EXPECT_EQ(enforced.events[0].kind, "refused");
  EXPECT_EQ(enforced.events[0].message, "gpu.persistence gpu3: cannot reach Slurm: no slurm.conf");
}

TEST_F(EnforceTest, ADrainThatIsAppliedLateIsKnownAsOurs) {
  controller.before_drain = [&] { cluster.be(Health::hung); };
  const auto enforced = run(sick());
  EXPECT_TRUE(enforced.out_of_reach);
  EXPECT_FALSE(enforced.drained);
  EXPECT_THAT(kinds(enforced), ElementsAre("trouble"));
  EXPECT_EQ(enforced.events[0].message,
            "the drain may still be applied: scontrol did not answer within 8 s");

  controller.before_drain = {};
  cluster.be(Health::well);  // and now it comes, while the node is well again
  EXPECT_EQ(cluster.node("n001").reason, kReason);
  run(healthy());
  EXPECT_TRUE(record()->settled);
  run(healthy());
  run(healthy());
  EXPECT_EQ(cluster.node("n001").state, "idle");
  EXPECT_EQ(record(), std::nullopt);
}

TEST_F(EnforceTest, ADrainThatSlurmRefusesIsNotExpectedLater) {
  controller.refusal = "scontrol ended with status 1: slurm_update error: Access/permission denied";
  const auto enforced = run(sick());
  EXPECT_TRUE(enforced.out_of_reach);
  EXPECT_THAT(kinds(enforced), ElementsAre("trouble"));
  EXPECT_EQ(enforced.events[0].message, fmt::format("not drained: {}", controller.refusal));
}

TEST_F(EnforceTest, ADrainedNodeThatCannotAskStaysAsItIs) {
  run(sick());
  run(healthy());
  cluster.be(Health::dead);
  const auto enforced = run(healthy());
  EXPECT_TRUE(enforced.out_of_reach);
  EXPECT_THAT(enforced.events, IsEmpty());
  cluster.be(Health::well);
  EXPECT_EQ(record()->clean, 1);
}

// The resume takes the drain out of the node's memory in the same request.
TEST_F(EnforceTest, AResumeThatIsAppliedLateIsNotAnAdmins) {
  run(sick());
  run(healthy());
  run(healthy());
  controller.before_resume = [&] { cluster.be(Health::hung); };
  EXPECT_THAT(kinds(run(healthy())), ElementsAre("trouble"));
  controller.before_resume = {};
  cluster.be(Health::well);
  ASSERT_EQ(cluster.node("n001").state, "idle");
  EXPECT_THAT(kinds(run(healthy())), IsEmpty());
  EXPECT_EQ(memory().drains.size(), 1);
}

TEST_F(EnforceTest, AnAdminsResumeAfterOneThatSlurmRefusedEndsTheCountOfDrains) {
  run(sick());
  run(healthy());
  run(healthy());
  controller.before_resume = [&] { cluster.be(Health::dead); };
  EXPECT_THAT(kinds(run(healthy())), ElementsAre("trouble"));
  cluster.be(Health::well);
  cluster.resume("n001");
  EXPECT_THAT(kinds(run(healthy())), ElementsAre("released"));
  EXPECT_EQ(cluster.node("n001").memory, "");
}

TEST_F(EnforceTest, ADrainThatWasLostIsSentAgainWhileTheNodeIsSick) {
  controller.before_drain = [&] { cluster.be(Health::dead); };
  run(sick());
  EXPECT_EQ(count("drain"), 1);  // never twice in one run
  cluster.be(Health::well);
  controller.before_drain = {};
  cluster.pass(kInterval);
  EXPECT_TRUE(run(sick()).drained);
  EXPECT_EQ(count("drain"), 2);
  EXPECT_EQ(memory().drains.size(), 1);
}

TEST_F(EnforceTest, ADrainThatCouldNotBeVerifiedIsConfirmedByTheNextRun) {
  while_asleep = [&] { cluster.be(Health::dead); };
  const auto enforced = run(sick());
  EXPECT_TRUE(enforced.drained);
  EXPECT_TRUE(enforced.out_of_reach);
  EXPECT_THAT(kinds(enforced), ElementsAre("trouble"));
  while_asleep = {};
  cluster.be(Health::well);
  cluster.pass(kInterval);
  EXPECT_THAT(kinds(run(sick())), ElementsAre("kept"));
  EXPECT_TRUE(record()->settled);
}

TEST_F(EnforceTest, AResumeThatFailsIsTriedAgain) {
  run(sick());
  run(healthy());
  run(healthy());
  controller.before_resume = [&] { cluster.be(Health::dead); };
  const auto enforced = run(healthy());
  EXPECT_TRUE(enforced.drained);
  EXPECT_TRUE(enforced.out_of_reach);
  EXPECT_THAT(kinds(enforced), ElementsAre("trouble"));
  EXPECT_THAT(enforced.events[0].message, StartsWith("not resumed: scontrol ended with status 1"));
  ASSERT_TRUE(record());
  controller.before_resume = {};
  cluster.be(Health::well);
  EXPECT_THAT(kinds(run(healthy())), ElementsAre("resumed"));
}

TEST_F(EnforceTest, ADrainThatWasLostDrainsNoNodeWithJobs) {
  const auto found = sick();
  order.judge_drained = [&](const std::string& /*check*/) { return &found; };
  controller.before_drain = [&] { cluster.be(Health::dead); };
  run(sick());
  cluster.be(Health::well);
  controller.before_drain = {};
  cluster.node("n001").state = "allocated";
  for (int i = 0; i < 3; ++i) {
    cluster.pass(kInterval);
    run(healthy());
  }
  EXPECT_EQ(cluster.node("n001").state, "allocated");
  EXPECT_EQ(count("drain"), 1);
  EXPECT_EQ(record(), std::nullopt);
}

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

TEST_F(TimeTest, ADrainThatCouldNotBeVerifiedInTimeIsNotSent) {
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

TEST_F(TimeTest, ADrainThatCanBeVerifiedInTimeIsSent) {
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

TEST_F(TimeTest, ADrainBeyondTheShareIsUndoneWithoutTheWholeWait) {
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

TEST_F(TimeTest, ADrainThatWasAppliedLateIsComparedAsFarAsTheTimeAllows) {
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
