// SPDX-License-Identifier: Apache-2.0
// Decisions about a node whose report requires no drain.

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

TEST(WellTest, IsLeftAloneUnlessMusterDrainedIt) {
  expect_decisions(
      in_service(well_report()),
      {{"idle", {}, nothing("the node is in service")},
       {"not known",
        {unknown_because("Slurm does not know n1")},
        nothing("Slurm does not know n1")},
       {"drained by others",
        {shown_as("drained", "NHC: check_hw_ib", "root")},
        nothing("the node was drained by root with the reason \"NHC: check_hw_ib\"")},
       {"drained by muster without a memory",
        {shown_as("drained", kOurReason, "root")},
        about_drain(Action::keep, "clean run 1 of 3", true)},
       {"down", {shown_as("down", kOurReason, "root")}, nothing("the node is \"down\" in Slurm")}});
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

TEST(OwnDrainTest, IsLeftToOthersWhoChangedIt) {
  expect_decisions(
      drained_by_muster(well_report()),
      {{"resumed", {shown_as("idle")}, nothing("the node is in service")},
       {"drained again",
        {shown_as("drained", "swapping a cable", "alice")},
        nothing("the node was drained by alice with the reason \"swapping a cable\"")},
       {"addition to our reason",
        {shown_as("drained", kOurReason + " (alice looks)", "alice")},
        nothing(fmt::format("the node was drained by alice with the reason \"{} (alice looks)\"",
                            kOurReason))},
       {"no reason and no memory",
        {[](Situation& s) { s.node->memory.clear(); }, shown_as("drained")},
        nothing("the node was drained without a reason")},
       {"another reason, which Slurm dropped",
        {with_memory(&NodeMemory::overruled, true), shown_as("drained")},
        nothing("the node was drained without a reason")},
       {"to be rebooted",
        {shown_as("drained@", kOurReason, "root")},
        nothing("the node is \"drained@\" in Slurm")},
       {"resumed and not responding yet",
        {shown_as("idle*")},
        nothing("the node is \"idle*\" in Slurm")}});
}

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

TEST(OwnDrainTest, EndsAfterEnoughCleanRuns) {
  expect_decisions(
      drained_by_muster(well_report()),
      {{"enough", {}, resumed()},
       {"still draining", {shown_as("draining*", kOurReason, "root")}, resumed()},
       {"time and user of another",
        {shown_as("drained", kOurReason, "nhc"), [](Situation& s) { s.node->since = kNow; }},
        resumed()},
       {"first", {with_memory(&NodeMemory::clean, 0)}, kept("clean run 1 of 3")},
       {"second", {with_memory(&NodeMemory::clean, 1)}, kept("clean run 2 of 3")},
       {"one is enough",
        {with_memory(&NodeMemory::clean, 0), with_rule(&Rules::clean_runs, 1)},
        about_drain(Action::resume, "clean run 1 of 1: gpu.count passes", true)}});
}

TEST(OwnDrainTest, WaitsForAnAdmin) {
  const auto flaps = [](Time first, Time second) {
    return with_memory(&NodeMemory::drains, {first, second, kNow});
  };
  expect_decisions(
      drained_by_muster(well_report()),
      {{"replacement",
        {with_memory(&NodeMemory::remedy, Remedy::reseat_or_replace)},
        kept_for_admin("the remedy is to reseat or replace the part", Remedy::reseat_or_replace)},
       {"provider",
        {with_memory(&NodeMemory::remedy, Remedy::report_to_provider)},
        kept_for_admin("the remedy is to report to the provider", Remedy::report_to_provider)},
       {"flaps", {flaps(kNow - hours(23), kNow - hours(2))}, kept_for_admin("3 drains within 1 d")},
       {"flaps of long ago", {flaps(kNow - hours(24), kNow - hours(2))}, resumed()},
       {"flaps of a clock that ran ahead",
        {flaps(kNow + hours(9000), kNow + hours(9000))},
        resumed()},
       {"a reboot that is not the remedy",
        {with(&Situation::boot_id, "boot-2")},
        kept_for_admin("it was rebooted since, which is not the remedy of gpu.count")},
       {"an unknown boot", {with(&Situation::boot_id, "")}, resumed()},
       {"resume: false",
        {with_rule(&Rules::resume, false)},
        kept_for_admin("resume: false in muster.yaml")},
       {"a text of the site",
        {[](Situation& s) { s.node->memory = s.cluster[1].memory = "rack 7"; }},
        kept_for_admin("the node's field in Slurm (memory: extra) holds text that muster did "
                       "not write")},
       {"memory: none",
        {with_rule(&Rules::memory, "none")},
        kept_for_admin("memory: none in muster.yaml, so clean runs are not counted")},
       {"before enough clean runs",
        {with_memory(&NodeMemory::clean, 0), with_rule(&Rules::resume, false)},
        kept_for_admin("resume: false in muster.yaml")}});
}

TEST(OwnDrainTest, WaitsForAnAdminIfAPartWasReplaced) {
  const auto parts = [](std::string_view before, std::string now) {
    return std::vector{with_memory(&NodeMemory::hardware, hash_hardware(before)),
                       with(&Situation::identity, std::move(now))};
  };
  expect_decisions(drained_by_muster(well_report()),
                   {{"a replaced GPU", parts("GPU-1 GPU-2 hca-1", "GPU-1 GPU-3 hca-1"),
                     kept_for_admin("its GPUs or adapters are not those that it was drained with")},
                    {"a GPU that is back", parts("GPU-1 hca-1", "GPU-1 GPU-2 hca-1"), resumed()},
                    {"a lost GPU", parts("GPU-1 GPU-2 hca-1", "GPU-1 hca-1"), resumed()},
                    {"unknown parts", parts("gpus-1", ""), resumed()},
                    {"parts that were unknown", parts("", "gpus-1"), resumed()}});
}

TEST(OwnDrainTest, EndsAfterItsRemedy) {
  const auto remedy = [](Remedy value) { return with_memory(&NodeMemory::remedy, value); };
  const auto waits = with_remedy(kept("the node has not been rebooted since"), Remedy::reboot);
  const auto rebooted = with(&Situation::boot_id, "boot-2");
  expect_decisions(
      drained_by_muster(well_report()),
      {{"not rebooted", {remedy(Remedy::reboot)}, waits},
       {"unknown boot", {remedy(Remedy::reboot), with(&Situation::boot_id, "")}, waits},
       {"rebooted", {remedy(Remedy::reboot), rebooted}, with_remedy(resumed(), Remedy::reboot)},
       {"reset in the same boot",
        {remedy(Remedy::reset_gpu)},
        with_remedy(resumed(), Remedy::reset_gpu)},
       {"reset by a reboot",
        {remedy(Remedy::reset_gpu), rebooted},
        with_remedy(resumed(), Remedy::reset_gpu)}});
}

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
TEST(OwnDrainTest, SurvivesPowerSavingOnTheSameHost) {
  const auto no_parts = with_memory(&NodeMemory::hardware, {});
  expect_decisions(
      drained_by_muster(well_report()),
      {{"without its reason", {shown_as("drained")}, resumed()},
       {"after a boot",
        {shown_as("drained"), with(&Situation::boot_id, "boot-2"),
         with(&Situation::is_power_saved, true)},
        resumed()},
       {"still down", {shown_as("drained#")}, nothing("the node is \"drained#\" in Slurm")},
       {"other hardware", {with(&Situation::identity, "gpus-2")}, voided()},
       {"other GPUs next to the same adapters",
        {with_memory(&NodeMemory::hardware, hash_hardware("GPU-1 GPU-2 hca-1")),
         with_memory(&NodeMemory::gpus, 2), with_memory(&NodeMemory::clean, 0),
         with_memory(&NodeMemory::remedy, Remedy::report_to_provider),
         with(&Situation::identity, "GPU-3 GPU-4 hca-1")},
        voided(Remedy::report_to_provider)},
       {"another machine without such hardware",
        {no_parts, with_memory(&NodeMemory::machine, hash_machine("host rack-7")),
         with(&Situation::identity, ""), with(&Situation::machine, "host rack-8")},
        voided()},
       {"another kind of machine id",
        {no_parts, with_memory(&NodeMemory::machine, hash_machine("host rack-7")),
         with(&Situation::machine, "id 5eed")},
        resumed()},
       {"another machine with the same GPUs",
        {with_memory(&NodeMemory::machine, hash_machine("id 1")),
         with(&Situation::machine, "id 2")},
        resumed()},
       {"other hardware and resume: false",
        {with(&Situation::identity, "gpus-2"), with_rule(&Rules::resume, false)},
        kept("resume: false in muster.yaml")}});
}

TEST(OwnDrainTest, OnlyAHealthyHealthCheckVoidsThatOfAnotherHost) {
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

TEST(OwnDrainTest, IsKeptIfTheRunDidNotJudgeIt) {
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
