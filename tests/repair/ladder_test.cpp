// SPDX-License-Identifier: Apache-2.0
#include "lib/repair/ladder.hpp"

#include "lib/base/clock.hpp"
#include "tests/support/matchers.hpp"

namespace muster::repair {
namespace {

using std::chrono::hours;
using std::chrono::minutes;

const Time kNow = *parse_utc("2026-11-28T12:00:00Z");

class LadderTest : public ::testing::Test {
 protected:
  // A drain that asks for a reset, on an idle node of a large cluster.
  LadderTest() {
    case_.drain = {.node = "n1", .check = "gpu.xid", .device = "gpu5", .at = kNow - hours(1)};
    case_.remedy = Remedy::reset_gpu;
    case_.message = "XID 119";
    case_.drain_boot = case_.boot_id = "boot-1";
    case_.passes = false;
    case_.jobs = case_.processes = 0;
    case_.serials = {"165"};
    case_.nodes = 100;
    case_.drains = {case_.drain};
    case_.now = kNow;
  }

  // An operation on this node and incident.
  RepairRecord& had(Rung rung, State state, Time at = kNow - minutes(10)) {
    case_.operations.push_back({.id = "op",
                                .at = utc(at),
                                .node = "n1",
                                .rung = rung,
                                .state = state,
                                .incident = incident_of(case_.drain),
                                .check = "gpu.xid",
                                .boot_id = "boot-1"});
    return case_.operations.back();
  }

  [[nodiscard]] RepairStep step() const { return next_step(case_); }

  void acts(Rung rung) const {
    EXPECT_EQ(step().what, Advice::act) << step().why;
    EXPECT_EQ(step().rung, rung) << step().why;
  }

  void does(Advice what, const char* why) const {
    EXPECT_EQ(step().what, what);
    EXPECT_THAT(step().why, HasSubstr(why));
  }

  RepairCase case_;
};

TEST_F(LadderTest, TheRemedyChoosesTheFirstRung) {
  acts(Rung::reset_gpu);
  case_.remedy = Remedy::reboot;
  acts(Rung::reboot);
  case_.remedy = Remedy::report_to_provider;
  acts(Rung::claim);
  case_.remedy = Remedy::fix_config;
  does(Advice::nothing, "a person");
  case_.remedy = Remedy::none;
  does(Advice::nothing, "a person");
}

TEST_F(LadderTest, RestartsOnlyTheListedUnitThatTheFindingIsAbout) {
  case_.remedy = Remedy::restart_service;
  case_.drain.check = "host.services";
  case_.drain.device = "nvidia-imex.service";
  EXPECT_EQ(step().unit, "nvidia-imex.service");
  acts(Rung::restart_service);
  case_.drain.device = "sshd.service";
  does(Advice::stop, "no unit");
  case_.drain.check = "gpu.fabric_state";
  case_.drain.device = "gpu5";
  EXPECT_EQ(step().unit, "nvidia-fabricmanager.service");
  case_.rules.services = {};
  does(Advice::stop, "no unit");
  case_.drain.check = "host.kernel";
  does(Advice::stop, "no unit");
}

TEST_F(LadderTest, ClimbsWhenARungDidNotHelp) {
  case_.rules.actions_per_week = 9;
  had(Rung::reset_gpu, State::failed);
  acts(Rung::reboot);
  had(Rung::reboot, State::succeeded);
  acts(Rung::claim);
}

TEST_F(LadderTest, CancelledAndShadowStepsWereNotTried) {
  had(Rung::reset_gpu, State::cancelled);
  had(Rung::reset_gpu, State::superseded);
  had(Rung::reset_gpu, State::shadow);
  acts(Rung::reset_gpu);
}

TEST_F(LadderTest, HardEvidenceGoesToAClaim) {
  for (const auto* hard : {"XID 79: fallen off the bus", "XID 95"}) {
    case_.message = hard;
    acts(Rung::claim);
  }
  case_.message = "XID 790";
  acts(Rung::reset_gpu);
  case_.drain.check = "gpu.sxid";
  acts(Rung::claim);
  case_.drain.check = "gpu.present";
  case_.remedy = Remedy::reboot;
  acts(Rung::reboot);
  case_.boot_id = "boot-2";
  acts(Rung::claim);
}

TEST_F(LadderTest, AGpuWhoseProcessesAreUnknownIsNotReset) {
  case_.processes.reset();
  acts(Rung::reboot);
}

// The guardrails.

TEST_F(LadderTest, LeavesANodeAloneThatMusterDidNotDrain) {
  case_.owner = "alice drained it: cable";
  does(Advice::stop, "alice");
  case_.owner = "";
  case_.drain.check = "";
  does(Advice::nothing, "has not drained");
}

TEST_F(LadderTest, LeavesANodeWithAnOpenClaimAlone) {
  for (const auto state : {State::prepared, State::sent, State::acknowledged, State::out,
                           State::returned, State::reopened}) {
    case_.operations.clear();
    had(Rung::claim, state);
    does(Advice::stop, "left alone");
  }
  case_.operations.back().state = State::verified;
  acts(Rung::reset_gpu);
}

TEST_F(LadderTest, AHookDoesOnlyListedRungsAndNoneAsShipped) {
  case_.automatic = true;
  ASSERT_THAT(case_.rules.automatic, ::testing::IsEmpty());
  for (const auto remedy : {Remedy::reset_gpu, Remedy::reboot, Remedy::restart_service}) {
    case_.remedy = remedy;
    does(Advice::stop, "repair.automatic");
  }
  case_.remedy = Remedy::reset_gpu;
  case_.rules.automatic = {"reboot"};
  does(Advice::stop, "repair.automatic");
  case_.rules.automatic = {"reset_gpu"};
  acts(Rung::reset_gpu);
}

TEST_F(LadderTest, AHookPreparesNoClaim) {
  case_.automatic = true;
  case_.rules.automatic = {"restart_service", "reset_gpu", "reboot"};
  case_.remedy = Remedy::report_to_provider;
  does(Advice::stop, "an admin prepares the claim");
}

TEST_F(LadderTest, WaitsForJobsOfSlurmAndOfTheGpus) {
  case_.jobs = 1;
  does(Advice::wait, "jobs on the node: 1");
  case_.jobs.reset();
  does(Advice::wait, "could not be read");
  case_.jobs = 0;
  case_.processes = 2;
  does(Advice::wait, "processes on its GPUs: 2");
}

TEST_F(LadderTest, AFailedCollectionOfEvidenceBlocksOnlyAClaim) {
  case_.evidence_failed = true;
  acts(Rung::reset_gpu);
  case_.remedy = Remedy::reseat_or_replace;
  does(Advice::stop, "evidence");
}

TEST_F(LadderTest, StopsForAPersonAtAnUnfinishedOrAmbiguousOperation) {
  for (const auto rung : {Rung::restart_service, Rung::reset_gpu, Rung::reboot}) {
    for (const auto state : {State::reserved, State::ambiguous}) {
      case_.operations.clear();
      had(rung, state, kNow - hours(2));
      does(Advice::stop, "--resolve op=");
    }
  }
}

TEST_F(LadderTest, ARungIsDoneOncePerIncident) {
  had(Rung::reset_gpu, State::failed);
  acts(Rung::reboot);
  case_.drain.at += minutes(5);  // another incident
  acts(Rung::reset_gpu);
}

TEST_F(LadderTest, TwoActionsAWeekOnANodeAreEnough) {
  had(Rung::reset_gpu, State::succeeded, kNow - hours(100)).incident = "another";
  had(Rung::reboot, State::failed, kNow - hours(167)).incident = "another";
  acts(Rung::claim);
  case_.operations.back().at = utc(kNow - hours(169));
  acts(Rung::reset_gpu);
}

TEST_F(LadderTest, TwoActionsAWeekOnAPartAreEnoughWhereverItWas) {
  for (int count = 0; count < 2; ++count) {
    auto& record = had(Rung::reset_gpu, State::succeeded);
    record.node = "n7";
    record.incident = "another";
    record.serials = {"165"};
  }
  acts(Rung::claim);
  case_.serials = {"166"};
  acts(Rung::reset_gpu);
}

TEST_F(LadderTest, AShareOfTheClusterIsUnderRepairAtATime) {
  case_.nodes = 60;  // 5% are 3
  for (const auto* node : {"n2", "n3", "n4"}) {
    acts(Rung::reset_gpu);
    had(Rung::reboot, State::reserved).node = node;
  }
  does(Advice::wait, "3 of 3");
  case_.nodes = 1000;
  acts(Rung::reset_gpu);
  case_.rules.most_at_once_nodes = 3;
  does(Advice::wait, "3 of 3");
  case_.operations.pop_back();
  case_.operations.pop_back();
  case_.nodes = 5;  // at least one
  does(Advice::wait, "1 of 1");
}

TEST_F(LadderTest, ManyDrainsForOneCheckStopEverything) {
  case_.nodes = 20;
  case_.drain.at = kNow - minutes(5);
  case_.drains = {case_.drain};
  const auto drained = [&](const char* node, Time at) {
    case_.drains.push_back({.node = node, .check = "gpu.xid", .device = "gpu5", .at = at});
  };
  drained("n2", kNow - minutes(6));
  drained("n3", kNow - minutes(31));  // before the window
  case_.drains.push_back({.node = "n4", .check = "ib.link", .device = "", .at = kNow});
  acts(Rung::reset_gpu);
  drained("n5", kNow - minutes(29));
  does(Advice::stop, "3 of 20 nodes");
  EXPECT_TRUE(step().breaker);

  // Recorded, it stops other checks and later times until a person resolves it.
  auto& record = had(Rung::reset_gpu, State::ambiguous, kNow);
  record.node = "n5";
  record.incident = "breaker gpu.xid";
  case_.now = kNow + hours(5);
  does(Advice::stop, "all repairs are stopped");
  record.state = State::cancelled;
  acts(Rung::reset_gpu);
  // Old drains are not replayed by hooks.
  case_.automatic = true;
  case_.rules.automatic = {"reset_gpu"};
  does(Advice::stop, "older than the resolved stop");
  case_.drain.at = kNow + hours(1);
  acts(Rung::reset_gpu);
}

TEST_F(LadderTest, ANodeWhoseCheckPassesIsLeftToTheHook) {
  case_.passes = true;
  does(Advice::nothing, "passes now");
}

TEST_F(LadderTest, ANodeThatCannotBeReachedIsNotTouched) {
  case_.boot_id = "";
  does(Advice::stop, "could not be reached");
}

// Reboots.

TEST_F(LadderTest, AnUnfinishedRebootEndsByBootIdAndCheck) {
  had(Rung::reboot, State::reserved);
  EXPECT_FALSE(ended_reboot(case_));
  does(Advice::wait, "under way");
  case_.boot_id = "boot-2";
  EXPECT_EQ(ended_reboot(case_)->state, State::failed);
  case_.passes = true;
  EXPECT_EQ(ended_reboot(case_)->state, State::succeeded);
  case_.passes.reset();
  EXPECT_FALSE(ended_reboot(case_));
  case_.drain.check = "";  // resumed
  EXPECT_EQ(ended_reboot(case_)->state, State::succeeded);
  case_.owner = "alice drained it";
  EXPECT_EQ(ended_reboot(case_)->state, State::superseded);
}

TEST_F(LadderTest, ARebootWithoutANewBootIdIsAmbiguous) {
  had(Rung::reboot, State::reserved, kNow - minutes(31));
  EXPECT_EQ(ended_reboot(case_)->state, State::ambiguous);
  case_.boot_id = "";  // it does not answer
  EXPECT_EQ(ended_reboot(case_)->state, State::ambiguous);
}

}  // namespace
}  // namespace muster::repair
