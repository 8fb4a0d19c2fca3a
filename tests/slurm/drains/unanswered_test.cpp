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

TEST_F(EnforceTest, WhatSlurmctldDoesLateIsKnownAsOurs) {
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
TEST_F(EnforceTest, AResumeThatIsAppliedLateIsNotTakenForAnAdmins) {
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

TEST_F(EnforceTest, ADrainThatNeverCameIsSentAgainWhileTheNodeIsSick) {
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

TEST_F(EnforceTest, ADrainThatNeverCameDrainsNoJobsNode) {
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

}  // namespace
}  // namespace muster::slurm
