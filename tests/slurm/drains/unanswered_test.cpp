// SPDX-License-Identifier: Apache-2.0
// A slurmctld that is dead, hangs, or does late what it was told.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "slurm/drains/enforce.hpp"
#include "tests/slurm/drains/enforce_fixture.hpp"

namespace muster::slurm {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::StartsWith;
using Health = FakeCluster::Health;

TEST_F(EnforceTest, AHealthyNodeThatCouldNotAskAsksAgainAndSaysNothing) {
  cluster.be(Health::dead);
  EXPECT_THAT(run(healthy()).events, IsEmpty());
  cluster.be(Health::well);
  run(healthy());
  run(healthy());
  EXPECT_EQ(count("read"), 2);
}

TEST_F(EnforceTest, ADeadSlurmctldIsSaid) {
  cluster.be(Health::dead);
  const auto enforced = run(sick());
  EXPECT_TRUE(enforced.decision.sick);
  EXPECT_TRUE(enforced.out_of_reach);
  EXPECT_FALSE(enforced.drained);
  EXPECT_THAT(kinds(enforced), ElementsAre("refused"));
  EXPECT_EQ(enforced.events[0].message,
            "gpu.persistence gpu3: Slurm could not be asked: sinfo ended with status 1: Unable to "
            "contact slurm "
            "controller");
  EXPECT_EQ(record(), std::nullopt);
  cluster.be(Health::well);
  EXPECT_TRUE(run(sick()).drained);
}

TEST_F(EnforceTest, WithoutSlurmItSaysWhy) {
  const auto report = sick();
  order.report = &report;
  order.node = "n001";
  auto hands = hands_of("n001");
  hands.controller = nullptr;
  hands.trouble = "no slurm.conf";
  const auto enforced = enforce(order, hands);
  EXPECT_TRUE(enforced.out_of_reach);
  ASSERT_EQ(enforced.events.size(), 1);
  EXPECT_EQ(enforced.events[0].kind, "refused");
  EXPECT_EQ(enforced.events[0].message,
            "gpu.persistence gpu3: Slurm could not be asked: no slurm.conf");
}

TEST_F(EnforceTest, ADeadSlurmctldOnADrainedNodeIsTrouble) {
  run(sick());
  cluster.be(Health::dead);
  const auto enforced = run(healthy());
  EXPECT_TRUE(enforced.out_of_reach);
  EXPECT_THAT(kinds(enforced), ElementsAre("trouble"));
  EXPECT_TRUE(record());
}

TEST_F(EnforceTest, WhatSlurmctldDoesLateIsKnownAsOurs) {
  controller.before_drain = [&] { cluster.be(Health::hung); };
  const auto enforced = run(sick());
  EXPECT_TRUE(enforced.out_of_reach);
  EXPECT_FALSE(enforced.drained);
  EXPECT_THAT(kinds(enforced), ElementsAre("trouble"));
  EXPECT_EQ(enforced.events[0].message,
            "the drain may still come: scontrol did not answer within 8 s");
  ASSERT_TRUE(record());
  EXPECT_FALSE(record()->confirmed);

  controller.before_drain = {};
  cluster.be(Health::well);  // and now it comes, while the node is well again
  EXPECT_EQ(cluster.node("n001").reason, kReason);
  run(healthy());
  EXPECT_TRUE(record()->confirmed);
  run(healthy());
  run(healthy());
  EXPECT_EQ(cluster.node("n001").state, "idle");
  EXPECT_EQ(record(), std::nullopt);
}

TEST_F(EnforceTest, ADrainThatNeverCameIsForgottenAfterAWhile) {
  controller.before_drain = [&] { cluster.be(Health::dead); };
  run(sick());
  cluster.be(Health::well);
  controller.before_drain = {};
  cluster.pass(kInterval);
  EXPECT_THAT(kinds(run(healthy())), IsEmpty());
  EXPECT_TRUE(record());
  cluster.pass(kInterval);
  EXPECT_THAT(kinds(run(healthy())), ElementsAre("not_applied"));
  EXPECT_EQ(record(), std::nullopt);
  EXPECT_THAT(*history_of("n001").drains_of("n001"), IsEmpty());
}

TEST_F(EnforceTest, ADrainThatNeverCameIsSentAgainWhileTheNodeIsSick) {
  controller.before_drain = [&] { cluster.be(Health::dead); };
  run(sick());
  EXPECT_EQ(count("drain"), 1);  // never twice in one run
  cluster.be(Health::well);
  controller.before_drain = {};
  cluster.pass(kInterval);
  EXPECT_TRUE(run(sick()).drained);
  EXPECT_EQ(count("drain"), 2);
  EXPECT_EQ(history_of("n001").drains_of("n001")->size(), 1);
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
  EXPECT_TRUE(record()->confirmed);
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

TEST_F(EnforceTest, AResumeThatComesLateIsNoAdmins) {
  run(sick());
  run(healthy());
  run(healthy());
  controller.before_resume = [&] { cluster.be(Health::hung); };
  EXPECT_THAT(kinds(run(healthy())), ElementsAre("trouble"));
  EXPECT_TRUE(record()->resuming);
  controller.before_resume = {};
  cluster.be(Health::well);
  ASSERT_EQ(cluster.node("n001").state, "idle");
  const auto enforced = run(healthy());
  EXPECT_THAT(kinds(enforced), ElementsAre("resumed"));
  EXPECT_EQ(enforced.events[0].reason, kReason);
  EXPECT_EQ(record(), std::nullopt);
  EXPECT_EQ(history_of("n001").drains_of("n001")->size(), 1);
}

// Earlier drains would count as flaps for ever.

TEST_F(EnforceTest, AnAdminsResumeAfterOneThatSlurmRefusedIsNotOurs) {
  const auto clean = healthy();
  auto elsewhere = healthy();
  elsewhere.checks[0].outcome = Outcome::warn;
  for (const auto& next : {clean, elsewhere, sick()}) {
    run(sick());
    run(healthy());
    run(healthy());
    controller.before_resume = [&] { cluster.be(Health::dead); };
    EXPECT_THAT(kinds(run(healthy())), ElementsAre("trouble"));
    EXPECT_TRUE(record()->resuming);
    cluster.be(Health::well);  // and knows nothing of it
    order.rules.clean_runs = 10;
    run(next);
    ASSERT_TRUE(record());
    EXPECT_FALSE(record()->resuming);
    order.rules.clean_runs = 3;
    cluster.resume("n001");
    cluster.pass(kInterval);
    EXPECT_THAT(kinds(run(healthy())), ElementsAre("released"));
    EXPECT_THAT(*history_of("n001").drains_of("n001"), IsEmpty());
    controller.before_resume = {};
  }
}

TEST_F(EnforceTest, ADrainThatNeverCameDrainsNoJobsNode) {
  const auto found = sick();
  order.judge_drained = [&](const OwnDrain& /*drain*/) { return &found; };
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

TEST_F(EnforceTest, NothingIsSentToASlurmctldThatDiedMeanwhile) {
  controller.after_read = [&] { cluster.be(Health::dead); };
  const auto enforced = run(sick());
  EXPECT_THAT(kinds(enforced), ElementsAre("refused"));
  EXPECT_TRUE(enforced.out_of_reach);
  EXPECT_EQ(count("drain"), 0);
  EXPECT_EQ(record(), std::nullopt);
}

}  // namespace
}  // namespace muster::slurm
