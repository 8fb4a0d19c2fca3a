// SPDX-License-Identifier: Apache-2.0
// Decisions about a node whose report requires no drain.
#include <gtest/gtest.h>

#include "slurm/policy/decide.hpp"
#include "tests/slurm/policy/situation.hpp"

namespace muster::slurm {
namespace {

using std::chrono::hours;

Decision about_drain(Action action, std::string why, bool clean) {
  return {.action = action,
          .why = std::move(why),
          .check = "gpu.count",
          .remedy = Remedy::restart_app,
          .clean = clean};
}

class WellTest : public ::testing::TestWithParam<PolicyCase> {};

TEST_P(WellTest, LeavesAloneWhatMusterDidNotDrain) {
  auto situation = in_service(well_report());
  GetParam().change(situation);
  EXPECT_EQ(decide(situation), GetParam().expected);
}

INSTANTIATE_TEST_SUITE_P(
    Nodes, WellTest,
    ::testing::Values(
        PolicyCase{"Idle", [](Situation&) {}, nothing("the node is in service")},
        PolicyCase{"NotKnown",
                   [](Situation& s) {
                     s.node.reset();
                     s.trouble = "Slurm does not know n1";
                   },
                   nothing("Slurm does not know n1")},
        PolicyCase{"DrainedByOthers",
                   [](Situation& s) { put(s, "drained", "NHC: check_hw_ib", "root"); },
                   nothing("the node was drained by root with the reason \"NHC: check_hw_ib\"")},
        PolicyCase{"DrainedByUsWithoutAMemory",
                   [](Situation& s) { put(s, "drained", kOurReason, "root"); },
                   about_drain(Action::keep, "clean run 1 of 3", true)},
        PolicyCase{"Down", [](Situation& s) { put(s, "down", kOurReason, "root"); },
                   nothing("the node is \"down\" in Slurm")}),
    name_of);

class OwnDrainTest : public ::testing::TestWithParam<PolicyCase> {};

TEST_P(OwnDrainTest, EndsAsItsRulesSay) {
  auto situation = drained_by_muster(well_report());
  GetParam().change(situation);
  EXPECT_EQ(decide(situation), GetParam().expected);
}

Decision resumed() {
  return about_drain(Action::resume, "clean run 3 of 3: gpu.count passes", true);
}

Decision kept(std::string why) { return about_drain(Action::keep, std::move(why), true); }

Decision kept_for_admin(std::string why, Remedy remedy = Remedy::restart_app) {
  auto decision = kept(fmt::format("{}: drained until an admin runs muster resume n1", why));
  decision.admin = std::move(why);
  decision.remedy = remedy;
  return decision;
}

Decision with_remedy(Decision decision, Remedy remedy) {
  decision.remedy = remedy;
  return decision;
}

INSTANTIATE_TEST_SUITE_P(
    Others, OwnDrainTest,
    ::testing::Values(
        PolicyCase{"Resumed", [](Situation& s) { put(s, "idle"); },
                   nothing("the node is in service")},
        PolicyCase{"Redrained",
                   [](Situation& s) { put(s, "drained", "swapping a cable", "alice"); },
                   nothing("the node was drained by alice with the reason \"swapping a cable\"")},
        PolicyCase{
            "AddedToOurReason",
            [](Situation& s) { put(s, "drained", kOurReason + " (alice looks)", "alice"); },
            nothing(fmt::format(
                "the node was drained by alice with the reason \"{} (alice looks)\"", kOurReason))},
        PolicyCase{"EmptiedOurReasonWithoutAMemory",
                   [](Situation& s) {
                     s.node->memory.clear();
                     put(s, "drained");
                   },
                   nothing("the node was drained without a reason")},
        PolicyCase{"PutAReasonOverOursThatSlurmDropped",
                   [](Situation& s) {
                     remember(s, &NodeMemory::overruled, true);
                     put(s, "drained");
                   },
                   nothing("the node was drained without a reason")},
        PolicyCase{"RebootIt", [](Situation& s) { put(s, "drained@", kOurReason, "root"); },
                   nothing("the node is \"drained@\" in Slurm")},
        PolicyCase{"ResumedIt_NotRespondingYet", [](Situation& s) { put(s, "idle*"); },
                   nothing("the node is \"idle*\" in Slurm")}),
    name_of);

// A job's leftovers are gone when they are gone: a user may have left them three times, and the
// remedy of memory in use is a reset.
TEST(LeftByAJobTest, EndsWithTheFirstCleanRun) {
  for (const auto* check : {"gpu.processes", "gpu.memory_used"}) {
    auto situation = drained_by_muster(well_report());
    remember(situation, &NodeMemory::check, check);
    remember(situation, &NodeMemory::remedy, Remedy::reboot);
    remember(situation, &NodeMemory::clean, 0);
    remember(situation, &NodeMemory::drains,
             std::vector<Time>{kNow - hours(3), kNow - hours(2), kNow - hours(1)});
    auto report = *situation.report;
    report.checks = {{.id = check, .outcome = Outcome::pass}};
    situation.report = &report;
    const auto decision = decide(situation);
    EXPECT_EQ(decision.action, Action::resume) << decision.why;
    EXPECT_EQ(decision.why, fmt::format("the leftover of an ended job is gone: {} passes", check));
    report.checks.front().outcome = Outcome::warn;
    EXPECT_EQ(decide(situation).action, Action::keep);
    report.checks.front().outcome = Outcome::pass;
    situation.rules.resume = false;
    EXPECT_EQ(decide(situation).action, Action::keep);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Runs, OwnDrainTest,
    ::testing::Values(
        PolicyCase{"Enough", [](Situation&) {}, resumed()},
        PolicyCase{"WhileItStillDrains",
                   [](Situation& s) { put(s, "draining*", kOurReason, "root"); }, resumed()},
        PolicyCase{"WithTimeAndUserOfAnother",
                   [](Situation& s) {
                     put(s, "drained", kOurReason, "nhc");
                     s.node->since = kNow;
                   },
                   resumed()},
        PolicyCase{"First", [](Situation& s) { remember(s, &NodeMemory::clean, 0); },
                   kept("clean run 1 of 3")},
        PolicyCase{"Second", [](Situation& s) { remember(s, &NodeMemory::clean, 1); },
                   kept("clean run 2 of 3")},
        PolicyCase{"OneIsEnough",
                   [](Situation& s) {
                     remember(s, &NodeMemory::clean, 0);
                     s.rules.clean_runs = 1;
                   },
                   about_drain(Action::resume, "clean run 1 of 1: gpu.count passes", true)}),
    name_of);

INSTANTIATE_TEST_SUITE_P(
    Obstacles, OwnDrainTest,
    ::testing::Values(
        PolicyCase{
            "Replacement",
            [](Situation& s) { remember(s, &NodeMemory::remedy, Remedy::reseat_or_replace); },
            kept_for_admin("the remedy is to reseat or replace the part",
                           Remedy::reseat_or_replace)},
        PolicyCase{
            "Provider",
            [](Situation& s) { remember(s, &NodeMemory::remedy, Remedy::report_to_provider); },
            kept_for_admin("the remedy is to report to the provider", Remedy::report_to_provider)},
        PolicyCase{"Flaps",
                   [](Situation& s) {
                     remember(s, &NodeMemory::drains,
                              std::vector<Time>{kNow - hours(23), kNow - hours(2), kNow});
                   },
                   kept_for_admin("drain 3 within 1 d")},
        PolicyCase{"FlapsOfLongAgo",
                   [](Situation& s) {
                     remember(s, &NodeMemory::drains,
                              std::vector<Time>{kNow - hours(24), kNow - hours(2), kNow});
                   },
                   resumed()},
        PolicyCase{"FlapsOfAClockThatRanAhead",
                   [](Situation& s) {
                     remember(s, &NodeMemory::drains,
                              std::vector<Time>{kNow + hours(9000), kNow + hours(9000), kNow});
                   },
                   resumed()},
        PolicyCase{"AReplacedGpu",
                   [](Situation& s) {
                     remember(s, &NodeMemory::hardware, hash_hardware("GPU-1 GPU-2 hca-1"));
                     s.identity = "GPU-1 GPU-3 hca-1";
                   },
                   kept_for_admin("its GPUs or adapters are not those that it was drained with")},
        PolicyCase{"AGpuThatIsBack",
                   [](Situation& s) {
                     remember(s, &NodeMemory::hardware, hash_hardware("GPU-1 hca-1"));
                     s.identity = "GPU-1 GPU-2 hca-1";
                   },
                   resumed()},
        PolicyCase{"AGpuThatIsAway",
                   [](Situation& s) {
                     remember(s, &NodeMemory::hardware, hash_hardware("GPU-1 GPU-2 hca-1"));
                     s.identity = "GPU-1 hca-1";
                   },
                   resumed()},
        PolicyCase{"HardwareThatCannotBeTold", [](Situation& s) { s.identity.clear(); }, resumed()},
        PolicyCase{
            "HardwareThatCouldNotBeTold",
            [](Situation& s) { remember(s, &NodeMemory::hardware, std::vector<std::string>()); },
            resumed()},
        PolicyCase{"RebootedWithoutBeingTold", [](Situation& s) { s.boot_id = "boot-2"; },
                   kept_for_admin("it was rebooted since, which is not the remedy of gpu.count")},
        PolicyCase{"BootThatCannotBeTold", [](Situation& s) { s.boot_id.clear(); }, resumed()},
        PolicyCase{"SiteThatResumesNone", [](Situation& s) { s.rules.resume = false; },
                   kept_for_admin("resume: false in muster.yaml")},
        PolicyCase{"FieldOfTheSites",
                   [](Situation& s) { s.node->memory = s.cluster[1].memory = "rack 7"; },
                   kept_for_admin("the node's field in Slurm (memory: extra) has a text of the "
                                  "site's")},
        PolicyCase{"SiteWithoutMemories", [](Situation& s) { s.rules.memory = "none"; },
                   kept_for_admin("memory: none in muster.yaml, so clean runs are not counted")},
        PolicyCase{"AdminBeforeRuns",
                   [](Situation& s) {
                     remember(s, &NodeMemory::clean, 0);
                     s.rules.resume = false;
                   },
                   kept_for_admin("resume: false in muster.yaml")}),
    name_of);

INSTANTIATE_TEST_SUITE_P(
    Remedies, OwnDrainTest,
    ::testing::Values(
        PolicyCase{"RebootHasNotHappened",
                   [](Situation& s) { remember(s, &NodeMemory::remedy, Remedy::reboot); },
                   with_remedy(kept("the node has not been rebooted since"), Remedy::reboot)},
        PolicyCase{"RebootCannotBeTold",
                   [](Situation& s) {
                     remember(s, &NodeMemory::remedy, Remedy::reboot);
                     s.boot_id.clear();
                   },
                   with_remedy(kept("the node has not been rebooted since"), Remedy::reboot)},
        PolicyCase{"RebootHasHappened",
                   [](Situation& s) {
                     remember(s, &NodeMemory::remedy, Remedy::reboot);
                     s.boot_id = "boot-2";
                   },
                   with_remedy(resumed(), Remedy::reboot)},
        PolicyCase{"ResetInTheSameBoot",
                   [](Situation& s) { remember(s, &NodeMemory::remedy, Remedy::reset_gpu); },
                   with_remedy(resumed(), Remedy::reset_gpu)},
        PolicyCase{"ResetByReboot",
                   [](Situation& s) {
                     remember(s, &NodeMemory::remedy, Remedy::reset_gpu);
                     s.boot_id = "boot-2";
                   },
                   with_remedy(resumed(), Remedy::reset_gpu)}),
    name_of);

Decision voided(Remedy remedy = Remedy::restart_app) {
  return with_remedy(
      about_drain(
          Action::resume,
          "the name belongs to another host by now, so the drain for gpu.count is void, and "
          "this host is healthy",
          true),
      remedy);
}

// Slurm powered the node down and up: it drops the reason, and another host may have the name.
INSTANTIATE_TEST_SUITE_P(
    PowerSaving, OwnDrainTest,
    ::testing::Values(
        PolicyCase{"SlurmDroppedTheReason", [](Situation& s) { put(s, "drained"); }, resumed()},
        PolicyCase{"WithABoot",
                   [](Situation& s) {
                     put(s, "drained");
                     s.boot_id = "boot-2";
                     s.is_power_saved = true;
                   },
                   resumed()},
        PolicyCase{"StillDown", [](Situation& s) { put(s, "drained#"); },
                   nothing("the node is \"drained#\" in Slurm")},
        PolicyCase{"OtherHardware", [](Situation& s) { s.identity = "gpus-2"; }, voided()},
        PolicyCase{"OtherGpusNextToTheSameAdapters",
                   [](Situation& s) {
                     remember(s, &NodeMemory::hardware, hash_hardware("GPU-1 GPU-2 hca-1"));
                     remember(s, &NodeMemory::gpus, 2);
                     remember(s, &NodeMemory::clean, 0);
                     remember(s, &NodeMemory::remedy, Remedy::report_to_provider);
                     s.identity = "GPU-3 GPU-4 hca-1";
                   },
                   voided(Remedy::report_to_provider)},
        PolicyCase{"OtherMachineWithoutSuchHardware",
                   [](Situation& s) {
                     remember(s, &NodeMemory::hardware, std::vector<std::string>());
                     remember(s, &NodeMemory::machine, hash_machine("host rack-7"));
                     s.identity.clear();
                     s.machine = "host rack-8";
                   },
                   voided()},
        PolicyCase{"OtherKindOfMachineId",
                   [](Situation& s) {
                     remember(s, &NodeMemory::hardware, std::vector<std::string>());
                     remember(s, &NodeMemory::machine, hash_machine("host rack-7"));
                     s.machine = "id 5eed";
                   },
                   resumed()},
        PolicyCase{"OtherMachineWithTheSameGpus",
                   [](Situation& s) {
                     remember(s, &NodeMemory::machine, hash_machine("id 1"));
                     s.machine = "id 2";
                   },
                   resumed()},
        PolicyCase{"OtherHardwareOfASiteThatResumesNone",
                   [](Situation& s) {
                     s.identity = "gpus-2";
                     s.rules.resume = false;
                   },
                   kept("resume: false in muster.yaml")}),
    name_of);

TEST(OwnDrainTest, OfAnotherHostIsVoidOnlyByAHealthyHealthCheck) {
  for (const auto& [context, verdict] :
       {std::pair{"prolog", Verdict::healthy}, std::pair{"periodic", Verdict::unknown}}) {
    auto report = report_of(verdict, {});
    report.context = context;
    auto situation = drained_by_muster(report);
    situation.identity = "gpus-2";
    EXPECT_EQ(decide(situation).action, Action::keep) << context;
  }
  // It need not run the check of the drain.
  const auto other = report_of(Verdict::healthy, {});
  auto situation = drained_by_muster(other);
  situation.identity = "gpus-2";
  EXPECT_EQ(decide(situation).action, Action::resume);
}

TEST(OwnDrainTest, IsKeptByARunThatSaysNothingAboutIt) {
  const auto decided = [](const Report& report) { return decide(drained_by_muster(report)); };
  const auto unclean = [](std::string why, std::string admin = "") {
    auto decision = about_drain(Action::keep, std::move(why), false);
    decision.admin = std::move(admin);
    return decision;
  };

  const Finding unreadable{.check = "gpu.count",
                           .outcome = Outcome::unknown,
                           .message = "no answer",
                           .remedy = Remedy::none};
  EXPECT_EQ(decided(report_of(Verdict::unknown, {unreadable})),
            unclean("the verdict is unknown: gpu.count: no answer"));
  EXPECT_EQ(decided(report_of(Verdict::unknown, {})), unclean("the verdict is unknown"));
  EXPECT_EQ(decided(report_of(Verdict::healthy, {{.check = "ib.rate", .outcome = Outcome::pass}})),
            unclean("context periodic did not run gpu.count: drained until an admin runs muster "
                    "resume n1",
                    "context periodic did not run gpu.count"));
  auto booted = report_of(Verdict::healthy, {{.check = "ib.rate", .outcome = Outcome::pass}});
  booted.context = "boot";
  EXPECT_EQ(decided(booted), unclean("context boot did not run gpu.count"));
  EXPECT_EQ(
      decided(report_of(Verdict::healthy, {{.check = "gpu.count", .outcome = Outcome::skip}})),
      unclean("gpu.count did not judge: skip: drained until it does, or until an admin runs "
              "muster resume n1",
              "gpu.count did not judge: skip"));
  EXPECT_EQ(
      decided(report_of(Verdict::healthy, {{.check = "gpu.count", .outcome = Outcome::warn}})),
      unclean("gpu.count warns"));
}

TEST(OwnDrainTest, OnlyHealthChecksCount) {
  struct Case {
    std::string context;
    Decision decision;
    Cleanness healthy;
  };

  const auto left = about_drain(Action::keep, "only health checks count", false);
  const std::vector<Case> cases = {{"periodic", resumed(), Cleanness::clean},
                                   {"boot", resumed(), Cleanness::clean},
                                   {"manual", resumed(), Cleanness::clean},
                                   {"prolog", left, Cleanness::neither},
                                   {"epilog", left, Cleanness::neither}};
  for (const auto& test : cases) {
    auto report = well_report();
    report.context = test.context;
    const auto situation = drained_by_muster(report);
    EXPECT_EQ(decide(situation), test.decision) << test.context;
    EXPECT_EQ(cleanness_of(report, {}, *current_drain(situation)), test.healthy) << test.context;
    for (auto other : {sick_report(), report_of(Verdict::unknown, {})}) {
      other.context = test.context;
      EXPECT_EQ(cleanness_of(other, {}, *current_drain(situation)), Cleanness::unclean)
          << test.context;
    }
  }
}

}  // namespace
}  // namespace muster::slurm
