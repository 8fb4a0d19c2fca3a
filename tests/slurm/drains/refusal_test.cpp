// SPDX-License-Identifier: Apache-2.0
// A refusal is reported, but not at every interval.
#include <gmock/gmock.h>

#include "tests/slurm/drains/enforce_fixture.hpp"

namespace muster::slurm {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using testing::ElementsAre;
using testing::IsEmpty;
using Health = FakeCluster::Health;

class RefusalTest : public EnforceTest {
 protected:
  RefusalTest() { order.rules.drain = false; }

  // One interval later.
  std::vector<std::string> next(const Report& report) {
    cluster.pass(kInterval);
    return kinds(run(report));
  }
};

TEST_F(RefusalTest, IsReportedOnceAndAgainEveryHour) {
  std::vector<int> said;
  for (int i = 0; i < 30; ++i) {
    if (!next(sick()).empty()) said.push_back(i);
  }
  EXPECT_THAT(said, ElementsAre(0, 12, 24));  // of 5 minutes
  EXPECT_THAT(remembered(), ElementsAre("refused", "refused", "refused"));
  EXPECT_THAT(told, ElementsAre("refused", "refused", "refused"));
}

// The fault to act on is in the event and in everything made from it.
TEST_F(RefusalTest, NamesTheCheckAndTheDevice) {
  const auto event_of = [](const HookResult& enforced) {
    EXPECT_EQ(enforced.events.size(), 1U);
    return enforced.events.empty() ? Event() : enforced.events.front();
  };
  const auto event = event_of(run(sick()));
  EXPECT_EQ(event.check, "gpu.persistence");
  EXPECT_EQ(event.device, "gpu3");
  const std::string text = "gpu.persistence gpu3: drain: false in muster.yaml";
  EXPECT_EQ(event.message, text);
  EXPECT_EQ(summary(event), "refused n001: " + text);  // syslog
  EXPECT_THAT(to_line(event), testing::EndsWith(" periodic: " + text + "\n"));

  // Another fault is another refusal.
  auto other = sick();
  other.findings[0].check = other.checks[0].id = "host.limits";
  other.findings[0].device = "node";
  EXPECT_EQ(event_of(run(other)).message, "host.limits: drain: false in muster.yaml");
  order.rules.drain = true;
  cluster.drain("n001", "cable", "alice");
  EXPECT_THAT(event_of(run(sick())).message,
              testing::StartsWith("gpu.persistence gpu3: the node was drained by alice"));
}

// For `muster status`, which asks Slurm alone.
TEST_F(RefusalTest, IsStoredInSlurmWhileItLasts) {
  const auto refused = [&] { return memory().refused; };
  run(sick());
  ASSERT_TRUE(refused());
  EXPECT_EQ(refused()->check, "gpu.persistence");
  EXPECT_EQ(refused()->device, "gpu3");
  EXPECT_EQ(refused()->at, cluster.now());
  for (int i = 0; i < 11; ++i) next(sick());
  EXPECT_EQ(count("remember"), 1U);
  next(sick());
  EXPECT_EQ(count("remember"), 2U);
  next(healthy());
  EXPECT_FALSE(refused());
  EXPECT_EQ(cluster.node("n001").memory, "");
}

TEST_F(RefusalTest, ADrainReplacesIt) {
  run(sick());
  order.rules.drain = true;
  next(sick());
  EXPECT_EQ(memory().check, "gpu.persistence");
  EXPECT_FALSE(memory().refused);
}

TEST_F(RefusalTest, ATextOfTheSiteIsNotOverwritten) {
  cluster.node("n001").memory = "rack 7";
  run(sick());
  EXPECT_EQ(cluster.node("n001").memory, "rack 7");
}

TEST_F(RefusalTest, EachRunReturnsTheRefusal) {
  run(sick());
  const auto enforced = run(sick());
  EXPECT_THAT(enforced.events, IsEmpty());
  EXPECT_TRUE(enforced.decision.sick);
  EXPECT_TRUE(enforced.decision.loud);
  EXPECT_EQ(enforced.decision.action, Action::nothing);
  EXPECT_EQ(enforced.decision.why, "drain: false in muster.yaml");
}

TEST_F(RefusalTest, IsReportedAgainWhenTheReasonChanges) {
  EXPECT_THAT(next(sick()), ElementsAre("refused"));
  cluster.drain("n001", "cable", "alice");
  EXPECT_THAT(next(sick()), ElementsAre("refused"));
  EXPECT_THAT(next(sick()), IsEmpty());
  cluster.resume("n001");
  EXPECT_THAT(next(sick()), ElementsAre("refused"));
  cluster.be(Health::dead);
  EXPECT_THAT(next(sick()), ElementsAre("refused"));
  EXPECT_THAT(next(sick()), IsEmpty());
}

TEST_F(RefusalTest, EndsWithTheFaultAndIsReportedAgainAfterIt) {
  EXPECT_THAT(next(healthy()), IsEmpty());
  EXPECT_THAT(next(sick()), ElementsAre("refused"));
  EXPECT_THAT(next(healthy()), ElementsAre("over"));
  EXPECT_THAT(next(healthy()), IsEmpty());
  EXPECT_THAT(next(sick()), ElementsAre("refused"));
}

TEST_F(RefusalTest, IsReportedAgainAfterADrain) {
  order.rules.drain = true;
  run(sick(), "n002");
  EXPECT_THAT(next(sick()), ElementsAre("refused"));  // the share is used up
  cluster.resume("n002");
  EXPECT_THAT(next(sick()), ElementsAre("drained"));
  cluster.resume("n001");
  run(sick(), "n002");
  EXPECT_THAT(next(sick()), ElementsAre("released", "refused"));
}

// The node is sick and in service again.
TEST_F(RefusalTest, IsNotEndedByADrainThatWasUndone) {
  EXPECT_THAT(next(sick()), ElementsAre("refused"));
  order.rules.drain = true;
  controller.before_drain = [&] { cluster.drain("n002", kReason); };
  while_asleep = [&] { cluster.node("n002").since = cluster.now() - minutes(1); };
  EXPECT_THAT(next(sick()), ElementsAre("undone"));
  EXPECT_THAT(next(healthy()), ElementsAre("over"));
}

TEST_F(RefusalTest, EachContextAndEachJobHasItsOwn) {
  EXPECT_THAT(kinds(run(sick())), ElementsAre("refused"));
  order.context = "prolog";
  for (const auto* job : {"1", "2"}) {
    order.job = job;
    EXPECT_THAT(kinds(run(sick())), ElementsAre("refused")) << job;
    EXPECT_THAT(kinds(run(sick())), IsEmpty()) << job;
  }
  order.context = "periodic";
  order.job = "";
  EXPECT_THAT(kinds(run(sick())), IsEmpty());
}

// In every context that may have found the fault.
TEST_F(RefusalTest, IsEndedByAnyRunThatJudgedItsCheck) {
  for (const auto* context : {"prolog", "periodic", "epilog"}) {
    order.context = "prolog";
    order.job = "1";
    EXPECT_THAT(next(sick()), ElementsAre("refused"));
    ASSERT_TRUE(memory().refused);
    order.context = context;
    order.job = "";
    const auto ended = run(healthy());
    EXPECT_THAT(kinds(ended), ElementsAre("over")) << context;
    EXPECT_THAT(ended.events, testing::Each(testing::Field(&Event::check, "gpu.persistence")));
    EXPECT_FALSE(memory().refused) << context;
    EXPECT_THAT(next(healthy()), IsEmpty());
  }
}

TEST_F(RefusalTest, LastsWhileNoRunJudgesItsCheck) {
  order.context = "prolog";
  EXPECT_THAT(next(sick()), ElementsAre("refused"));
  auto other = healthy();
  order.context = "periodic";
  for (const auto& checks : {std::vector<CheckResult>{{"host.limits", Outcome::pass}},
                             {{"gpu.persistence", Outcome::skip}, {"host.limits", Outcome::pass}},
                             {{"gpu.persistence", Outcome::unknown}}}) {
    other.checks = checks;
    EXPECT_THAT(next(other), IsEmpty());
    EXPECT_TRUE(memory().refused);
  }
  EXPECT_THAT(next(healthy()), ElementsAre("over"));
}

// Each fault has its own end, and a new refusal after it.
TEST_F(RefusalTest, EachOfTwoFaultsEndsByItself) {
  auto other = sick();
  other.findings[0].check = other.checks[0].id = "host.limits";
  EXPECT_THAT(next(sick()), ElementsAre("refused"));
  EXPECT_THAT(next(other), ElementsAre("refused"));
  const auto ended = run(healthy());
  ASSERT_THAT(kinds(ended), ElementsAre("over"));
  EXPECT_EQ(ended.events[0].check, "gpu.persistence");
  order.context = "prolog";
  EXPECT_THAT(next(sick()), ElementsAre("refused"));
  order.context = "periodic";
  EXPECT_THAT(next(sick()), ElementsAre("refused"));
}

TEST_F(RefusalTest, ADryRunAlwaysReportsItAndEndsNone) {
  run(sick());
  order.dry_run = true;
  EXPECT_THAT(kinds(run(sick())), ElementsAre("refused"));
  EXPECT_THAT(kinds(run(sick())), ElementsAre("refused"));
  EXPECT_THAT(kinds(run(healthy())), IsEmpty());
  EXPECT_THAT(remembered(), ElementsAre("refused"));
}

}  // namespace
}  // namespace muster::slurm
