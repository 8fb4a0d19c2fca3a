// SPDX-License-Identifier: Apache-2.0
// What others do before, during and after a run stands.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "slurm/drains/enforce.hpp"
#include "tests/slurm/drains/enforce_fixture.hpp"

namespace muster::slurm {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;
using Health = FakeCluster::Health;

TEST_F(EnforceTest, AnAdminsResumeIsLeftAloneAndEndsTheCountOfDrains) {
  run(sick());
  cluster.resume("n001");
  cluster.pass(kInterval);
  const auto enforced = run(healthy());
  EXPECT_THAT(kinds(enforced), ElementsAre("released"));
  EXPECT_FALSE(enforced.drained);
  EXPECT_EQ(cluster.node("n001").state, "idle");
  EXPECT_EQ(record(), std::nullopt);
  EXPECT_THAT(*history_of("n001").drains_of("n001"), IsEmpty());
}

TEST_F(EnforceTest, AnAdminsDrainBeforeSurvives) {
  cluster.drain("n001", "swapping a cable", "alice");
  const auto before = cluster.node("n001");
  cluster.pass(kInterval);
  const auto enforced = run(sick());
  EXPECT_EQ(cluster.node("n001"), before);
  EXPECT_THAT(kinds(enforced), ElementsAre("refused"));
  EXPECT_THAT(enforced.events[0].message, HasSubstr("swapping a cable"));
  EXPECT_TRUE(enforced.drained);
  run(healthy());
  EXPECT_EQ(cluster.node("n001"), before);
  EXPECT_EQ(count("drain") + count("resume"), 0);
}

TEST_F(EnforceTest, AnAdminsDrainBetweenDecidingAndSendingSurvives) {
  controller.after_read = [&] {
    if (count("read") == 1) cluster.drain("n001", "swapping a cable", "alice");
  };
  const auto enforced = run(sick());
  EXPECT_EQ(cluster.node("n001").reason, "swapping a cable");
  EXPECT_EQ(count("drain"), 0);
  EXPECT_THAT(kinds(enforced), ElementsAre("refused"));
  EXPECT_TRUE(enforced.drained);
  EXPECT_EQ(record(), std::nullopt);
}

TEST_F(EnforceTest, AnAdminsDrainRightAfterSurvives) {
  controller.after_drain = [&] { cluster.drain("n001", "swapping a cable", "alice"); };
  const auto enforced = run(sick());
  EXPECT_EQ(cluster.node("n001").reason, "swapping a cable");
  EXPECT_THAT(kinds(enforced), ElementsAre("trouble"));
  EXPECT_THAT(enforced.events[0].message, HasSubstr("swapping a cable"));
  EXPECT_TRUE(enforced.drained);
  for (int i = 0; i < 5; ++i) {
    cluster.pass(kInterval);
    run(healthy());
  }
  EXPECT_EQ(cluster.node("n001").reason, "swapping a cable");
  EXPECT_EQ(count("resume"), 0);
}

TEST_F(EnforceTest, AnAdminsReasonPutOverOursSurvives) {
  run(sick());
  cluster.drain("n001", "keep: waiting for a part", "alice");
  for (int i = 0; i < 5; ++i) {
    cluster.pass(kInterval);
    run(healthy());
  }
  EXPECT_EQ(cluster.node("n001").reason, "keep: waiting for a part");
  EXPECT_EQ(count("resume"), 0);
}

TEST_F(EnforceTest, AnAdminsDrainDuringTheLastCleanRunSurvives) {
  run(sick());
  run(healthy());
  run(healthy());
  cluster.drain("n001", "keep", "alice");
  EXPECT_TRUE(run(healthy()).drained);
  EXPECT_EQ(cluster.node("n001").reason, "keep");
}

// The disk of the history takes its time, or slurmctld does.

TEST_F(EnforceTest, WhatOthersDoRightBeforeAResumeSurvives) {
  struct Case {
    std::string name;
    std::function<void()> act;
    std::string state, reason, message;
    bool drained;
  };

  const std::vector<Case> cases = {
      {"an admin's drain", [&] { cluster.drain("n001", "swapping a cable", "alice"); }, "drained",
       "swapping a cable",
       R"(not resumed: meanwhile the node is "drained" with the reason "swapping a cable")", true},
      {"an admin's resume", [&] { cluster.resume("n001"); }, "idle", "",
       R"(not resumed: meanwhile the node is "idle" with the reason "")", false},
      {"a slurmctld that dies", [&] { cluster.be(Health::dead); }, "drained", std::string(kReason),
       "not resumed: Slurm could not be asked: sinfo ended with status 1: Unable to contact slurm "
       "controller",
       true}};
  for (const auto& test : cases) {
    cluster = FakeCluster(4);
    histories.clear();
    std::filesystem::remove_all(dir.path());
    run(sick());
    run(healthy());
    run(healthy());
    controller.calls.clear();
    controller.after_read = [&] {
      if (count("read") == 1) test.act();
    };
    const auto enforced = run(healthy());
    controller.after_read = {};
    EXPECT_EQ(cluster.node("n001").state, test.state) << test.name;
    EXPECT_EQ(cluster.node("n001").reason, test.reason) << test.name;
    EXPECT_THAT(kinds(enforced), ElementsAre("trouble")) << test.name;
    EXPECT_EQ(enforced.events[0].message, test.message);
    EXPECT_EQ(enforced.drained, test.drained) << test.name;
    EXPECT_EQ(count("resume"), 0) << test.name;
    ASSERT_TRUE(record()) << test.name;
    EXPECT_FALSE(record()->resuming) << test.name;
  }
}

TEST_F(EnforceTest, AnAdminsDrainRightBeforeOneTooManyIsPutBackSurvives) {
  // Another was drained before, and was not seen yet.
  controller.before_drain = [&] { cluster.drain("n002", kReason); };
  controller.after_drain = [&] { cluster.pass(std::chrono::seconds(1)); };
  std::size_t reads_before = 0;
  while_asleep = [&] {
    cluster.node("n001").since = cluster.now();
    reads_before = count("read");
  };
  controller.after_read = [&] {
    const bool is_verified = reads_before != 0 && count("read") == reads_before + 1;
    if (is_verified) cluster.drain("n001", "swapping a cable", "alice");
  };
  const auto enforced = run(sick());
  EXPECT_EQ(cluster.node("n001").reason, "swapping a cable");
  EXPECT_EQ(count("resume"), 0);
  EXPECT_THAT(kinds(enforced), ElementsAre("trouble"));
  EXPECT_THAT(enforced.events[0].message, StartsWith("not resumed: meanwhile "));
  EXPECT_TRUE(enforced.drained);
}

TEST_F(EnforceTest, ANodeThatAnAdminResumedAndThatIsSickBeginsAnew) {
  run(sick());
  cluster.resume("n001");
  cluster.pass(kInterval);
  EXPECT_THAT(kinds(run(sick())), ElementsAre("released", "drained"));
  EXPECT_EQ(history_of("n001").drains_of("n001")->size(), 1);
}

}  // namespace
}  // namespace muster::slurm
