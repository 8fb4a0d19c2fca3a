// SPDX-License-Identifier: Apache-2.0
#include "slurm/policy.hpp"

#include <gtest/gtest.h>

#include <functional>

#include "slurm/reason.hpp"
#include "tests/slurm/situation.hpp"

namespace muster::slurm {
namespace {

using std::chrono::hours;
using std::chrono::minutes;

Decision about_sick(Action action, std::string why) {
  return {.action = action,
          .why = std::move(why),
          .check = "gpu.count",
          .device = "node",
          .remedy = Remedy::restart_app,
          .sick = true};
}

Decision about_drain(Action action, std::string why, bool clean) {
  return {.action = action,
          .why = std::move(why),
          .check = "gpu.count",
          .remedy = Remedy::restart_app,
          .clean = clean};
}

Decision nothing(std::string why) { return {.why = std::move(why)}; }

// A situation, changed, and what is decided then.
struct Case {
  std::string_view name;
  std::function<void(Situation&)> change;
  Decision expected;
};

// NOLINTNEXTLINE(readability-identifier-naming): the name that gtest looks for
void PrintTo(const Case& test, std::ostream* out) { *out << test.name; }

std::string name_of(const ::testing::TestParamInfo<Case>& info) {
  return std::string(info.param.name);
}

void put(Situation& situation, std::string state, std::string reason = "", std::string user = "") {
  situation.node->state = std::move(state);
  situation.node->reason = std::move(reason);
  situation.node->user = std::move(user);
  situation.cluster[1] = *situation.node;
}

class SickTest : public ::testing::TestWithParam<Case> {};

TEST_P(SickTest, IsDrainedWhereMusterMay) {
  auto situation = in_service(sick());
  GetParam().change(situation);
  EXPECT_EQ(decide(situation), GetParam().expected);
}

Decision the_drain() {
  auto decision =
      about_sick(Action::drain, "gpu.count: 7 of 8 GPUs are there; end or restart the application");
  decision.reason = kOurReason;
  return decision;
}

Decision refused(std::string why) {
  auto decision = about_sick(Action::nothing, std::move(why));
  decision.loud = true;
  return decision;
}

INSTANTIATE_TEST_SUITE_P(
    Nodes,
    SickTest,
    ::testing::Values(
        Case{"Idle", [](Situation&) {}, the_drain()},
        Case{"Allocated", [](Situation& s) { put(s, "allocated"); }, the_drain()},
        // Somebody resumed it, and it is sick again.
        Case{"ResumedByOthers",
             [](Situation& s) { s.drain = OwnDrain{.reason = kOurReason, .at = kNow}; },
             the_drain()},
        Case{"NotKnown",
             [](Situation& s) {
               s.node.reset();
               s.trouble = "sinfo: no answer within 8 s";
             },
             about_sick(Action::nothing, "sinfo: no answer within 8 s")},
        Case{"DrainedBySlurm",
             [](Situation& s) { put(s, "drained", "Prolog error", "slurm"); },
             about_sick(Action::nothing,
                        "the node was drained by slurm with the reason \"Prolog error\"")},
        Case{"DrainedByAnAdmin",
             [](Situation& s) { put(s, "draining", "muster-admin: alice: cable", "root"); },
             about_sick(
                 Action::nothing,
                 "the node was drained by root with the reason \"muster-admin: alice: cable\"")},
        Case{"DrainedWithoutAReason",
             [](Situation& s) { put(s, "drained"); },
             about_sick(Action::nothing, "the node was drained without a reason")},
        Case{"DrainedWithAReasonOfTwoLines",
             [](Situation& s) { put(s, "drained", "a\nb"); },
             about_sick(Action::nothing, "the node was drained with the reason \"a\\x0ab\"")},
        Case{"Down",
             [](Situation& s) { put(s, "down*", "Not responding", "slurm"); },
             about_sick(Action::nothing, "the node is \"down*\" in Slurm")},
        Case{"Rebooting",
             [](Situation& s) { put(s, "reboot", "muster: x", "root"); },
             about_sick(Action::nothing, "the node is \"reboot\" in Slurm")},
        Case{"DrainedByUsWithoutARecord",
             [](Situation& s) { put(s, "drained", "muster: ib.rate mlx5_0: slow", "root"); },
             about_sick(
                 Action::keep,
                 "the node was drained by root with the reason \"muster: ib.rate mlx5_0: slow\"")},
        Case{"OfASiteThatDrainsNone",
             [](Situation& s) { s.rules.drain = false; },
             refused("the site's rules let muster drain no node")}),
    name_of);

// Others that muster drained, against a share of two nodes.
class ShareTest : public ::testing::TestWithParam<Case> {};

TEST_P(ShareTest, IsNotExceeded) {
  auto situation = in_service(sick());
  situation.rules.most_drained = Percent{20};
  GetParam().change(situation);
  EXPECT_EQ(decide(situation), GetParam().expected);
}

void drain_others(Situation& situation, int count, std::optional<Time> since) {
  for (int i = 0; i < count; ++i) {
    auto& node = situation.cluster[static_cast<std::size_t>(i) + 5];
    node = drained(node, fmt::format("muster: ib.rate mlx5_{}: slow", i), since);
  }
}

Decision used_up() {
  return refused("2 of 2 nodes that muster may drain in partition main within 1 h are drained");
}

INSTANTIATE_TEST_SUITE_P(
    Others,
    ShareTest,
    ::testing::Values(
        Case{"OneLess", [](Situation& s) { drain_others(s, 1, kNow); }, the_drain()},
        Case{"AsMany", [](Situation& s) { drain_others(s, 2, kNow); }, used_up()},
        Case{"JustWithinTheWindow",
             [](Situation& s) { drain_others(s, 2, kNow - minutes(60) + std::chrono::seconds(1)); },
             used_up()},
        Case{"BeforeTheWindow",
             [](Situation& s) { drain_others(s, 2, kNow - minutes(60)); },
             the_drain()},
        Case{"AtATimeThatSlurmDoesNotTell",
             [](Situation& s) { drain_others(s, 2, std::nullopt); },
             used_up()},
        Case{"DownByNow",
             [](Situation& s) {
               drain_others(s, 2, kNow);
               s.cluster[5].state = "down*";
               s.cluster[6].state = "drained@";
             },
             used_up()},
        Case{"ResumedByNow",
             [](Situation& s) {
               drain_others(s, 2, kNow);
               s.cluster[5].state = "idle";
             },
             the_drain()},
        Case{"DrainedByOthers",
             [](Situation& s) {
               drain_others(s, 2, kNow);
               s.cluster[5].reason = "NHC: check_hw_ib";
               s.cluster[6].reason = "muster-admin: alice: cable";
             },
             the_drain()},
        Case{"OfAnotherPartition",
             [](Situation& s) {
               drain_others(s, 1, kNow);
               s.cluster.push_back(s.cluster[5]);
               s.cluster.back().name = "n10";
               s.cluster.back().partitions = {"long"};
             },
             the_drain()},
        Case{"OfOneOfItsPartitions",
             [](Situation& s) {
               drain_others(s, 1, kNow);
               s.cluster[5].partitions = {"main", "small"};
               s.cluster[1].partitions = {"main", "small"};
               s.node = s.cluster[1];
             },
             refused("1 of 1 nodes that muster may drain in partition small within 1 h are "
                     "drained")}),
    name_of);

TEST(SickTest, LosesADrainThatTheShareDoesNotCover) {
  auto situation = drained_by_muster(sick());
  const auto before = situation.drain->at - minutes(1);
  EXPECT_EQ(decide(situation).action, Action::keep);

  situation.cluster[9] = drained(situation.cluster[9], "muster: x: y", before);
  auto expected = about_sick(Action::resume,
                             "other nodes were drained before, and 10% of a partition are "
                             "muster's share within 1 h");
  expected.loud = true;
  EXPECT_EQ(decide(situation), expected);

  // A drain that has lasted is not called into question: its time in Slurm may be another's.
  auto later = situation;
  later.now = situation.drain->at + hours(1);
  EXPECT_EQ(decide(later).action, Action::keep);

  // It is not this node's own.
  situation.drain->reason = "muster: another: one";
  EXPECT_EQ(decide(situation).action, Action::keep);
  situation.drain.reset();
  EXPECT_EQ(decide(situation).action, Action::keep);
}

TEST(SickTest, NamesTheWorstFinding) {
  auto warning = sick_finding();
  warning.outcome = Outcome::warn;
  auto second = sick_finding();
  second.check = "ib.rate";
  second.device = "mlx5_0";
  const auto report = report_of(Verdict::unhealthy, {warning, second, sick_finding()});
  const auto decision = decide(in_service(report));
  EXPECT_EQ(decision.action, Action::drain);
  EXPECT_EQ(decision.reason, make_reason(second));
  EXPECT_EQ(decision.check, "ib.rate");
  EXPECT_EQ(decision.device, "mlx5_0");
}

TEST(SickTest, IsNoReportWithoutAFailure) {
  auto warning = sick_finding();
  warning.outcome = Outcome::warn;
  for (const auto& findings : {std::vector<Finding>{}, {warning}}) {
    const auto report = report_of(Verdict::unhealthy, findings);
    EXPECT_EQ(decide(in_service(report)), nothing("the node is in service"));
    EXPECT_EQ(decide(drained_by_muster(report)).action, Action::keep);
    EXPECT_FALSE(decide(drained_by_muster(report)).clean);
  }
}

struct UnknownCase {
  std::map<std::string, std::string> rules;
  bool drains;
};

class UnknownTest : public ::testing::TestWithParam<UnknownCase> {};

TEST_P(UnknownTest, DrainsWhereTheSiteSaysSo) {
  const Finding warning{.check = "host.swap", .outcome = Outcome::warn};
  const Finding other{.check = "host.edac", .outcome = Outcome::unknown, .message = "no access"};
  const Finding finding{.check = "gpu.present",
                        .device = "gpu3",
                        .outcome = Outcome::unknown,
                        .message = "no answer within 5 s",
                        .remedy = Remedy::reboot};
  const auto report = report_of(Verdict::unknown, {other, finding, warning});
  auto situation = in_service(report);
  situation.rules.unknown = GetParam().rules;
  EXPECT_EQ(needs_slurm(report, situation.rules, false), GetParam().drains);
  const Decision drain{.action = Action::drain,
                       .why = "gpu.present gpu3: no answer within 5 s; reboot the node",
                       .reason = "muster: gpu.present gpu3: no answer within 5 s; reboot the node",
                       .check = "gpu.present",
                       .device = "gpu3",
                       .remedy = Remedy::reboot,
                       .sick = true};
  EXPECT_EQ(decide(situation), GetParam().drains ? drain : nothing("the node is in service"));
}

INSTANTIATE_TEST_SUITE_P(
    Rules,
    UnknownTest,
    ::testing::Values(UnknownCase{{}, false},
                      UnknownCase{{{"gpu.present", "drain"}}, true},
                      UnknownCase{{{"gpu.*", "drain"}}, true},
                      UnknownCase{{{"gpu.present", "keep"}}, false},
                      UnknownCase{{{"ib.*", "drain"}}, false},
                      UnknownCase{{{"host.swap", "drain"}}, false},
                      UnknownCase{{{"gpu.*", "drain"}, {"gpu.present", "keep"}}, false},
                      UnknownCase{{{"*", "keep"}, {"gpu.*", "drain"}}, true},
                      UnknownCase{{{"*", "drain"}, {"host.*", "keep"}}, true}));

TEST(UnknownTest, DrainsNoNodeOfWhichNothingWasJudged) {
  auto report = report_of(Verdict::unknown, {{.check = "gpu.count", .outcome = Outcome::skip}});
  auto situation = in_service(report);
  situation.rules.unknown = {{"*", "drain"}};
  EXPECT_EQ(decide(situation), nothing("the node is in service"));
  report = Report{};
  EXPECT_EQ(decide(situation), nothing("the node is in service"));
}

class WellTest : public ::testing::TestWithParam<Case> {};

TEST_P(WellTest, LeavesAloneWhatMusterDidNotDrain) {
  auto situation = in_service(well());
  GetParam().change(situation);
  EXPECT_EQ(decide(situation), GetParam().expected);
}

INSTANTIATE_TEST_SUITE_P(
    Nodes,
    WellTest,
    ::testing::Values(
        Case{"Idle", [](Situation&) {}, nothing("the node is in service")},
        Case{"NotKnown",
             [](Situation& s) {
               s.node.reset();
               s.trouble = "Slurm does not know n1";
             },
             nothing("Slurm does not know n1")},
        Case{"DrainedByOthers",
             [](Situation& s) { put(s, "drained", "NHC: check_hw_ib", "root"); },
             nothing("the node was drained by root with the reason \"NHC: check_hw_ib\"")},
        Case{"DrainedByUsWithoutARecord",
             [](Situation& s) { put(s, "drained", kOurReason, "root"); },
             nothing("this node has no record of its drain: muster resume n1")},
        Case{"Down",
             [](Situation& s) { put(s, "down", kOurReason, "root"); },
             nothing("the node is \"down\" in Slurm")}),
    name_of);

class OwnDrainTest : public ::testing::TestWithParam<Case> {};

TEST_P(OwnDrainTest, EndsAsItsRulesSay) {
  auto situation = drained_by_muster(well());
  GetParam().change(situation);
  EXPECT_EQ(decide(situation), GetParam().expected);
}

Decision resumed() {
  return about_drain(Action::resume, "clean run 3 of 3: gpu.count is well again", true);
}

Decision kept(std::string why) { return about_drain(Action::keep, std::move(why), true); }

Decision kept_for_admin(std::string why, Remedy remedy = Remedy::restart_app) {
  auto decision = kept(fmt::format("{}: drained until an admin says muster resume n1", why));
  decision.remedy = remedy;
  return decision;
}

Decision with_remedy(Decision decision, Remedy remedy) {
  decision.remedy = remedy;
  return decision;
}

INSTANTIATE_TEST_SUITE_P(
    Others,
    OwnDrainTest,
    ::testing::Values(
        Case{"Resumed",
             [](Situation& s) { put(s, "idle"); },
             nothing("somebody else resumed the node")},
        Case{"Redrained",
             [](Situation& s) { put(s, "drained", "swapping a cable", "alice"); },
             nothing("the node was drained by alice with the reason \"swapping a cable\"")},
        Case{
            "AddedToOurReason",
            [](Situation& s) { put(s, "drained", kOurReason + " (alice looks)", "alice"); },
            nothing(fmt::format(
                "the node was drained by alice with the reason \"{} (alice looks)\"", kOurReason))},
        Case{"EmptiedOurReason",
             [](Situation& s) { put(s, "drained"); },
             nothing("the node was drained without a reason")},
        Case{"RebootIt",
             [](Situation& s) { put(s, "drained@", kOurReason, "root"); },
             nothing("the node is \"drained@\" in Slurm")},
        Case{"ResumedIt_NotRespondingYet",
             [](Situation& s) { put(s, "idle*"); },
             nothing("the node is \"idle*\" in Slurm")}),
    name_of);

INSTANTIATE_TEST_SUITE_P(
    Runs,
    OwnDrainTest,
    ::testing::Values(
        Case{"Enough", [](Situation&) {}, resumed()},
        Case{"WhileItStillDrains",
             [](Situation& s) { put(s, "draining*", kOurReason, "root"); },
             resumed()},
        Case{"WithTimeAndUserOfAnother",
             [](Situation& s) {
               put(s, "drained", kOurReason, "nhc");
               s.node->since = kNow;
             },
             resumed()},
        Case{"First", [](Situation& s) { s.drain->clean_runs = 0; }, kept("clean run 1 of 3")},
        Case{"Second", [](Situation& s) { s.drain->clean_runs = 1; }, kept("clean run 2 of 3")},
        Case{"OneIsEnough",
             [](Situation& s) {
               s.drain->clean_runs = 0;
               s.rules.clean_runs = 1;
             },
             about_drain(Action::resume, "clean run 1 of 1: gpu.count is well again", true)}),
    name_of);

INSTANTIATE_TEST_SUITE_P(
    Obstacles,
    OwnDrainTest,
    ::testing::Values(
        Case{"Replacement",
             [](Situation& s) { s.drain->remedy = Remedy::reseat_or_replace; },
             kept_for_admin("the remedy is to reseat or replace the part",
                            Remedy::reseat_or_replace)},
        Case{"Provider",
             [](Situation& s) { s.drain->remedy = Remedy::report_to_provider; },
             kept_for_admin("the remedy is to report to the provider", Remedy::report_to_provider)},
        Case{"Flaps",
             [](Situation& s) {
               s.drains = {kNow - hours(23), kNow - hours(2), kNow};
             },
             kept_for_admin("drain 3 within 1 d")},
        Case{"FlapsOfLongAgo",
             [](Situation& s) {
               s.drains = {kNow - hours(24), kNow - hours(2), kNow};
             },
             resumed()},
        Case{"OtherHardware",
             [](Situation& s) { s.identity = "gpus-2"; },
             kept_for_admin("its GPUs or adapters are not those that it was drained with")},
        Case{"HardwareThatCannotBeTold", [](Situation& s) { s.identity.clear(); }, resumed()},
        Case{"HardwareThatCouldNotBeTold",
             [](Situation& s) { s.drain->identity.clear(); },
             resumed()},
        Case{"RebootedWithoutBeingTold",
             [](Situation& s) { s.boot_id = "boot-2"; },
             kept_for_admin("it was rebooted since, which is not the remedy of gpu.count")},
        Case{"BootThatCannotBeTold", [](Situation& s) { s.boot_id.clear(); }, resumed()},
        Case{"SiteThatResumesNone",
             [](Situation& s) { s.rules.resume = false; },
             kept_for_admin("the site's rules let muster resume no node")},
        Case{"AdminBeforeRuns",
             [](Situation& s) {
               s.drain->clean_runs = 0;
               s.rules.resume = false;
             },
             kept_for_admin("the site's rules let muster resume no node")}),
    name_of);

INSTANTIATE_TEST_SUITE_P(
    Remedies,
    OwnDrainTest,
    ::testing::Values(
        Case{"RebootHasNotHappened",
             [](Situation& s) { s.drain->remedy = Remedy::reboot; },
             with_remedy(kept("the node has not been rebooted since"), Remedy::reboot)},
        Case{"RebootCannotBeTold",
             [](Situation& s) {
               s.drain->remedy = Remedy::reboot;
               s.boot_id.clear();
             },
             with_remedy(kept("the node has not been rebooted since"), Remedy::reboot)},
        Case{"RebootHasHappened",
             [](Situation& s) {
               s.drain->remedy = Remedy::reboot;
               s.boot_id = "boot-2";
             },
             with_remedy(resumed(), Remedy::reboot)},
        Case{"ResetInTheSameBoot",
             [](Situation& s) { s.drain->remedy = Remedy::reset_gpu; },
             with_remedy(resumed(), Remedy::reset_gpu)},
        Case{"ResetByReboot",
             [](Situation& s) {
               s.drain->remedy = Remedy::reset_gpu;
               s.boot_id = "boot-2";
             },
             with_remedy(resumed(), Remedy::reset_gpu)}),
    name_of);

TEST(OwnDrainTest, IsKeptByARunThatSaysNothingAboutIt) {
  const auto decided = [](const Report& report) { return decide(drained_by_muster(report)); };
  const auto unclean = [](std::string why) {
    return about_drain(Action::keep, std::move(why), false);
  };

  const Finding unreadable{.check = "gpu.count",
                           .outcome = Outcome::unknown,
                           .message = "no answer",
                           .remedy = Remedy::none};
  EXPECT_EQ(decided(report_of(Verdict::unknown, {unreadable})),
            unclean("the verdict is unknown: gpu.count: no answer"));
  EXPECT_EQ(decided(report_of(Verdict::unknown, {})), unclean("the verdict is unknown"));
  EXPECT_EQ(decided(report_of(Verdict::healthy, {{.check = "ib.rate", .outcome = Outcome::pass}})),
            unclean("context periodic did not run gpu.count"));
  EXPECT_EQ(
      decided(report_of(Verdict::healthy, {{.check = "gpu.count", .outcome = Outcome::skip}})),
      unclean("gpu.count did not judge: skip"));
  EXPECT_EQ(
      decided(report_of(Verdict::healthy, {{.check = "gpu.count", .outcome = Outcome::warn}})),
      resumed());
}

TEST(NeedsSlurmTest, OnlyWhereThereIsSomethingToDo) {
  EXPECT_TRUE(needs_slurm(sick(), {}, false));
  EXPECT_TRUE(needs_slurm(well(), {}, true));
  EXPECT_FALSE(needs_slurm(well(), {}, false));
  EXPECT_FALSE(needs_slurm(Report{}, {}, false));
}

TEST(ActionTest, HasAWord) {
  EXPECT_EQ(to_string(Action::drain), "drain");
  EXPECT_EQ(to_string(Action::keep), "keep");
  EXPECT_EQ(to_string(Action::resume), "resume");
  EXPECT_EQ(to_string(Action::nothing), "nothing");
}

}  // namespace
}  // namespace muster::slurm
