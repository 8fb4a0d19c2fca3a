// SPDX-License-Identifier: Apache-2.0

#include "slurm/drains/enforce.hpp"

#include <gmock/gmock.h>

#include "tests/slurm/drains/enforce_fixture.hpp"

namespace muster::slurm {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;
using Health = FakeCluster::Health;

TEST_F(EnforceTest, AHealthyNodeAsksSlurmOnceInEachBootAndEveryHour) {
  for (const auto* boot : {"boot-1", "boot-2"}) {
    order.boot_id = boot;
    controller.calls.clear();
    for (int i = 0; i < 3; ++i) EXPECT_THAT(run(healthy()).events, IsEmpty());
    EXPECT_THAT(controller.calls, ElementsAre("read")) << boot;
  }
  cluster.pass(LastLook::kLasts);
  for (int i = 0; i < 3; ++i) run(healthy());
  EXPECT_EQ(count("read"), 2);
}

// From a login node by `muster drain --report`, or by a hook whose state is gone: the truth is in
// Slurm, and the node's own history knows nothing of it.
TEST_F(EnforceTest, ADrainThatWasSentElsewhereIsFoundWithinTheHour) {
  for (int i = 0; i < 2; ++i) EXPECT_THAT(run(healthy()).events, IsEmpty());
  auto elsewhere = services_of("login");
  elsewhere.last_look = nullptr;
  EXPECT_TRUE(run_with(sick(), "n001", elsewhere).drained);
  std::vector<std::string> seen;
  for (int i = 0; i < 16; ++i) {
    cluster.pass(kInterval);
    for (const auto& kind : kinds(run(healthy()))) seen.push_back(kind);
  }
  EXPECT_THAT(seen, ElementsAre("kept", "kept", "resumed"));
  EXPECT_EQ(cluster.node("n001").state, "idle");
}

TEST_F(EnforceTest, DrainsASickNode) {
  order.context = "prolog";
  order.job = "4711";
  const auto enforced = run(sick());
  EXPECT_EQ(cluster.node("n001").state, "drained");
  EXPECT_EQ(cluster.node("n001").reason, kReason);
  EXPECT_EQ(cluster.drained(), 1);
  EXPECT_TRUE(enforced.drained);
  EXPECT_FALSE(enforced.out_of_reach);
  ASSERT_EQ(enforced.events.size(), 1);
  EXPECT_EQ(enforced.events[0], (Event{.at = cluster.now(),
                                       .node = "n001",
                                       .kind = "drained",
                                       .context = "prolog",
                                       .job = "4711",
                                       .check = "gpu.persistence",
                                       .device = "gpu3",
                                       .message = enforced.decision.why,
                                       .reason = std::string(kReason),
                                       .boot_id = "boot-1"}));
  EXPECT_THAT(told, ElementsAre("drained"));
  EXPECT_THAT(remembered(), ElementsAre("drained"));
  EXPECT_EQ(record(), (NodeMemory{.check = "gpu.persistence",
                                  .device = "gpu3",
                                  .remedy = Remedy::restart_service,
                                  .at = cluster.now() - std::chrono::seconds(1),
                                  .boot = "boot-1",
                                  .settled = true,
                                  .reason = short_hash(kReason),
                                  .hardware = hash_hardware("GPU-1"),
                                  .gpus = 1,
                                  .drains = {cluster.now() - std::chrono::seconds(1)}}));
}

TEST_F(EnforceTest, KeepsASickNodeDrainedAndReportsItOnce) {
  run(sick());
  const auto at = cluster.node("n001").since;
  for (int i = 0; i < 3; ++i) {
    cluster.pass(kInterval);
    EXPECT_TRUE(run(sick()).drained);
  }
  EXPECT_EQ(count("drain"), 1);
  EXPECT_EQ(cluster.node("n001").since, at);
  EXPECT_THAT(remembered(), ElementsAre("drained", "kept"));
}

TEST_F(EnforceTest, ResumesAfterCleanRuns) {
  run(sick());
  for (int i = 1; i <= 2; ++i) {
    cluster.pass(kInterval);
    EXPECT_TRUE(run(healthy()).drained);
    EXPECT_EQ(record()->clean, i);
  }
  cluster.pass(kInterval);
  const auto enforced = run(healthy());
  EXPECT_FALSE(enforced.drained);
  EXPECT_THAT(kinds(enforced), ElementsAre("resumed"));
  EXPECT_EQ(enforced.events[0].reason, kReason);
  EXPECT_EQ(cluster.node("n001").state, "idle");
  EXPECT_EQ(record(), std::nullopt);
  controller.calls.clear();
  run(healthy());
  EXPECT_THAT(controller.calls, IsEmpty());
}

TEST_F(EnforceTest, ASickOrUndecidedRunResetsTheCountInEveryState) {
  struct Case {
    std::string name;
    std::function<void()> begin, end;
  };

  const auto state = [&](std::string word) {
    return [this, word = std::move(word)] { cluster.node("n001").state = word; };
  };
  const std::vector<Case> cases = {{"down", state("down*"), state("drained")},
                                   {"rebooting", state("drained@"), state("drained")},
                                   {"drained", [] {}, [] {}}};
  auto undecided = healthy();
  undecided.verdict = Verdict::unknown;
  run(sick());
  for (const auto& report : {sick(), undecided}) {
    for (const auto& test : cases) {
      run(healthy());
      run(healthy());
      ASSERT_EQ(record()->clean, 2) << test.name;
      test.begin();
      run(report);
      EXPECT_EQ(record()->clean, 0) << test.name;
      test.end();
    }
  }
}

TEST_F(EnforceTest, AHealthyPrologLeavesTheCountAsItIs) {
  run(sick());
  run(healthy());
  run(healthy());
  auto report = healthy();
  for (const auto* context : {"prolog", "epilog"}) {
    report.context = order.context = context;
    EXPECT_TRUE(run(report).drained) << context;
    EXPECT_EQ(record()->clean, 2) << context;
  }
  order.context = "periodic";
  EXPECT_FALSE(run(healthy()).drained);
}

TEST_F(EnforceTest, TheThirdDrainStays) {
  for (int drain = 1; drain <= 3; ++drain) {
    run(sick());
    ASSERT_EQ(cluster.node("n001").state, "drained");
    for (int i = 0; i < 5; ++i) {
      cluster.pass(kInterval);
      run(healthy());
    }
    EXPECT_EQ(cluster.node("n001").state, drain < 3 ? "idle" : "drained");
  }
}

TEST_F(EnforceTest, OnlyADrainedNodeIsJudgedAsOneWithoutJobs) {
  auto found = sick(Remedy::reset_gpu);
  order.judge_drained = [&](const std::string& check) {
    EXPECT_EQ(check, "gpu.persistence");
    return &found;
  };
  EXPECT_THAT(run(healthy()).events, IsEmpty());
  run(sick());
  for (int i = 0; i < 4; ++i) {
    cluster.pass(kInterval);
    const auto enforced = run(healthy());
    EXPECT_TRUE(enforced.drained);
    EXPECT_EQ(enforced.report, &found);
  }
  EXPECT_EQ(record()->clean, 0);
  EXPECT_EQ(record()->remedy, Remedy::reset_gpu);
  cluster.resume("n001");
  for (const auto health : {Health::dead, Health::well}) {
    cluster.be(health);
    cluster.pass(kInterval);
    const auto report = healthy();
    const auto enforced = run(report);
    EXPECT_FALSE(enforced.decision.sick);
    EXPECT_EQ(enforced.report, &report);
  }
  EXPECT_EQ(cluster.drained(), 0);
  EXPECT_EQ(count("drain"), 2);  // the second with the more serious fault
  EXPECT_THAT(remembered(), ElementsAre("drained", "worsened", "kept", "released"));

  run(sick());
  found = healthy();
  for (int i = 0; i < 3; ++i) run(healthy());
  EXPECT_EQ(cluster.node("n001").state, "idle");
}

TEST_F(EnforceTest, AMoreSeriousRemedyIsKept) {
  run(sick(Remedy::restart_service));
  auto report = sick(Remedy::reset_gpu);
  run(report);
  EXPECT_EQ(record()->remedy, Remedy::reset_gpu);
  order.boot_id = "boot-2";
  report = sick(Remedy::reboot);
  run(report);
  EXPECT_EQ(record()->remedy, Remedy::reboot);
  EXPECT_EQ(record()->boot, "boot-2");
  report = sick(Remedy::reseat_or_replace);
  report.findings[0].check = report.checks[0].id = "gpu.ecc_remapped_rows";
  run(report);
  EXPECT_EQ(record()->remedy, Remedy::reseat_or_replace);
  EXPECT_EQ(record()->check, "gpu.ecc_remapped_rows");
  EXPECT_EQ(
      cluster.node("n001").reason,
      "muster: gpu.ecc_remapped_rows gpu3: persistence mode is off; reseat or replace the part");
  run(sick(Remedy::reset_gpu));
  EXPECT_EQ(record()->remedy, Remedy::reseat_or_replace);
  auto well = healthy();
  well.checks.push_back({"gpu.ecc_remapped_rows", Outcome::pass});
  for (int i = 0; i < 5; ++i) run(well);
  EXPECT_EQ(cluster.node("n001").state, "drained");
}

// In production a lock keeps them apart; see HookRaceTest.
TEST_F(EnforceTest, NoDrainIsLostIfAnotherRunOvertakesThisOne) {
  const auto report = sick();
  HookRequest other = order;
  other.report = &report;
  other.node = "n001";
  other.context = "prolog";
  FakeController another(cluster);
  auto services = services_of("n001");
  services.controller = &another;
  for (auto* const moment : {&controller.after_read, &controller.before_drain}) {
    bool is_done = false;
    *moment = [&] {
      if (std::exchange(is_done, true)) return;
      EXPECT_TRUE(enforce(other, services).drained);
    };
    EXPECT_TRUE(run(sick()).drained);
    *moment = {};
    EXPECT_EQ(cluster.node("n001").reason, kReason);
    ASSERT_TRUE(record());
    EXPECT_TRUE(record()->settled);
    for (int i = 0; i < 3; ++i) run(healthy());
    EXPECT_EQ(cluster.node("n001").state, "idle");
    cluster.node("n001").memory = "";
  }
}

TEST_F(EnforceTest, ADryRunWritesNothing) {
  order.dry_run = true;
  const auto enforced = run(sick());
  EXPECT_EQ(enforced.decision.action, Action::drain);
  EXPECT_EQ(count("drain"), 0);
  EXPECT_THAT(told, ElementsAre("dry_run"));
  EXPECT_THAT(enforced.events[0].message, StartsWith("would drain: "));
  EXPECT_EQ(enforced.events[0].reason, kReason);
  EXPECT_THAT(remembered(), IsEmpty());
  EXPECT_EQ(record(), std::nullopt);
  order.dry_run = false;
  run(sick());
  run(healthy());
  run(healthy());
  order.dry_run = true;
  EXPECT_THAT(run(healthy()).events[0].message, StartsWith("would resume: "));
  EXPECT_EQ(count("resume"), 0);
  EXPECT_EQ(record()->clean, 2);
}

// A full disk is often the fault that a node was found sick with.
TEST_F(EnforceTest, NodesAreDrainedAndResumedWithoutAHistory) {
  with_history = false;
  EXPECT_THAT(kinds(run(sick())), ElementsAre("drained"));
  for (int i = 0; i < 2; ++i) EXPECT_THAT(kinds(run(healthy())), ElementsAre("kept"));
  EXPECT_THAT(kinds(run(healthy())), ElementsAre("resumed"));
  EXPECT_EQ(cluster.node("n001").state, "idle");
}

TEST_F(EnforceTest, AHistoryThatCannotBeWrittenIsOnlyReported) {
  history_of("n001");
  dir.remove("n001/events.jsonl");
  std::filesystem::create_directory(dir.path() / "n001/events.jsonl");
  const auto enforced = run(sick());
  EXPECT_THAT(kinds(enforced), ElementsAre("drained", "trouble"));
  EXPECT_TRUE(enforced.drained);
}

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

TEST_F(EnforceTest, ANodeThatAnAdminResumedAndThatIsSickBeginsAnew) {
  run(sick());
  cluster.resume("n001");
  cluster.pass(kInterval);
  EXPECT_THAT(kinds(run(sick())), ElementsAre("released", "drained"));
  EXPECT_EQ(memory().drains.size(), 1);
}

}  // namespace
}  // namespace muster::slurm
