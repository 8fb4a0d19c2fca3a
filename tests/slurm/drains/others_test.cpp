// SPDX-License-Identifier: Apache-2.0
// Actions of others before, during and after a run are kept.
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
  EXPECT_EQ(cluster.node("n001").memory, "");
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

TEST_F(EnforceTest, ANodeThatAnAdminResumedAndThatIsSickBeginsAnew) {
  run(sick());
  cluster.resume("n001");
  cluster.pass(kInterval);
  EXPECT_THAT(kinds(run(sick())), ElementsAre("released", "drained"));
  EXPECT_EQ(memory().drains.size(), 1);
}

}  // namespace
}  // namespace muster::slurm
