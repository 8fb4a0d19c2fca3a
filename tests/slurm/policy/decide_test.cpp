// SPDX-License-Identifier: Apache-2.0
#include "slurm/policy/decide.hpp"

#include <gtest/gtest.h>

#include "slurm/policy/node_memory.hpp"
#include "slurm/policy/reason.hpp"
#include "tests/slurm/policy/situation.hpp"

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

class SickTest : public ::testing::TestWithParam<PolicyCase> {};

TEST_P(SickTest, IsDrainedWhereMusterMay) {
  auto situation = in_service(sick_report());
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
    Nodes, SickTest,
    ::testing::Values(
        PolicyCase{"Idle", [](Situation&) {}, the_drain()},
        PolicyCase{"Allocated", [](Situation& s) { put(s, "allocated"); }, the_drain()},
        PolicyCase{"NotKnown",
                   [](Situation& s) {
                     s.node.reset();
                     s.trouble = "sinfo: no answer within 8 s";
                   },
                   about_sick(Action::nothing, "sinfo: no answer within 8 s")},
        PolicyCase{"DrainedBySlurm",
                   [](Situation& s) { put(s, "drained", "Prolog error", "slurm"); },
                   about_sick(Action::nothing,
                              "the node was drained by slurm with the reason \"Prolog error\"")},
        PolicyCase{
            "DrainedByAnAdmin",
            [](Situation& s) { put(s, "draining", "muster-admin: alice: cable", "root"); },
            about_sick(
                Action::nothing,
                "the node was drained by root with the reason \"muster-admin: alice: cable\"")},
        PolicyCase{"DrainedWithoutAReason", [](Situation& s) { put(s, "drained"); },
                   about_sick(Action::nothing, "the node was drained without a reason")},
        PolicyCase{"DrainedWithAReasonOfTwoLines", [](Situation& s) { put(s, "drained", "a\nb"); },
                   about_sick(Action::nothing, "the node was drained with the reason \"a\\x0ab\"")},
        PolicyCase{"Down", [](Situation& s) { put(s, "down*", "Not responding", "slurm"); },
                   about_sick(Action::nothing, "the node is \"down*\" in Slurm")},
        PolicyCase{"Rebooting", [](Situation& s) { put(s, "reboot", "muster: x", "root"); },
                   about_sick(Action::nothing, "the node is \"reboot\" in Slurm")},
        PolicyCase{"DrainedByUsWithoutAMemory",
                   [](Situation& s) { put(s, "drained", "muster: ib.rate mlx5_0: slow", "root"); },
                   about_sick(Action::keep, "gpu.count still fails")},
        PolicyCase{
            "DrainedByAnAdminInOurForm",
            [](Situation& s) { put(s, "drained", "muster: ib.rate mlx5_0: slow", "alice"); },
            about_sick(
                Action::nothing,
                "the node was drained by alice with the reason \"muster: ib.rate mlx5_0: slow\"")},
        PolicyCase{"OfASiteThatDrainsNone", [](Situation& s) { s.rules.drain = false; },
                   refused("drain: false in muster.yaml")}),
    name_of);

// Others that muster drained, against a share of two nodes.
class ShareTest : public ::testing::TestWithParam<PolicyCase> {};

TEST_P(ShareTest, IsNotExceeded) {
  auto situation = in_service(sick_report());
  situation.rules.most_drained = "20%";
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
    Others, ShareTest,
    ::testing::Values(
        PolicyCase{"OneLess", [](Situation& s) { drain_others(s, 1, kNow); }, the_drain()},
        PolicyCase{"AsMany", [](Situation& s) { drain_others(s, 2, kNow); }, used_up()},
        PolicyCase{
            "JustWithinTheWindow",
            [](Situation& s) { drain_others(s, 2, kNow - minutes(60) + std::chrono::seconds(1)); },
            used_up()},
        PolicyCase{"BeforeTheWindow", [](Situation& s) { drain_others(s, 2, kNow - minutes(60)); },
                   the_drain()},
        PolicyCase{"AtATimeThatSlurmDoesNotTell",
                   [](Situation& s) { drain_others(s, 2, std::nullopt); }, used_up()},
        PolicyCase{"DownByNow",
                   [](Situation& s) {
                     drain_others(s, 2, kNow);
                     s.cluster[5].state = "down*";
                     s.cluster[6].state = "drained@";
                     s.rules.most_drained = "25%";  // of nine that are up
                   },
                   used_up()},
        PolicyCase{"ResumedByNow",
                   [](Situation& s) {
                     drain_others(s, 2, kNow);
                     s.cluster[5].state = "idle";
                   },
                   the_drain()},
        PolicyCase{"DrainedByOthers",
                   [](Situation& s) {
                     drain_others(s, 2, kNow);
                     s.cluster[5].reason = "NHC: check_hw_ib";
                     s.cluster[6].reason = "muster-admin: alice: cable";
                   },
                   the_drain()},
        PolicyCase{"OfAnotherPartition",
                   [](Situation& s) {
                     drain_others(s, 1, kNow);
                     s.cluster.push_back(s.cluster[5]);
                     s.cluster.back().name = "n10";
                     s.cluster.back().partitions = {"long"};
                   },
                   the_drain()},
        PolicyCase{
            "HalfOfAllSinceWhenever", [](Situation& s) { drain_others(s, 5, kNow - hours(100)); },
            refused("5 of 5 nodes that may be drained by muster at a time in partition main are "
                    "drained")},
        PolicyCase{"LessThanHalfOfAllSinceWhenever",
                   [](Situation& s) { drain_others(s, 4, kNow - hours(100)); }, the_drain()},
        PolicyCase{"OfOneOfItsPartitions",
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
  auto situation = drained_by_muster(sick_report());
  remember(situation, &NodeMemory::settled, false);
  const auto at = current_drain(situation)->at;
  const auto before = at - minutes(1);
  EXPECT_EQ(decide(situation).action, Action::keep);

  situation.cluster[9] = drained(situation.cluster[9], "muster: x: y", before);
  auto expected = about_sick(Action::resume,
                             "other nodes were drained before: 1 of 1 nodes that muster may drain "
                             "in partition main within 1 h are drained");
  expected.loud = true;
  EXPECT_EQ(decide(situation), expected);

  // A drain that has lasted is not called into question: its time in Slurm may be another's.
  auto later = situation;
  later.now = at + hours(1);
  EXPECT_EQ(decide(later).action, Action::keep);

  // Nor is one that was compared before: the share or the partition has become smaller since.
  auto settled = situation;
  remember(settled, &NodeMemory::settled, true);
  EXPECT_EQ(decide(settled).action, Action::keep);

  // It is not this node's own.
  remember(situation, &NodeMemory::reason, short_hash("muster: another: one"));
  EXPECT_EQ(decide(situation).action, Action::nothing);
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
  EXPECT_EQ(decision.reason, make_reason(second, 1));
  EXPECT_EQ(decision.check, "ib.rate");
  EXPECT_EQ(decision.device, "mlx5_0");
}

TEST(SickTest, NamesTheGravestFailure) {
  auto finding = sick_finding();
  std::vector<Finding> findings;
  for (const auto remedy :
       {Remedy::none, Remedy::fix_config, Remedy::restart_app, Remedy::reset_gpu, Remedy::reboot,
        Remedy::report_to_provider, Remedy::reseat_or_replace}) {
    finding.remedy = remedy;
    finding.device = std::string(to_string(remedy));
    findings.push_back(finding);
    const auto report = report_of(Verdict::unhealthy, findings);
    const bool is_second_of_its_kind = remedy == Remedy::reseat_or_replace;
    EXPECT_EQ(decide(in_service(report)).device,
              is_second_of_its_kind ? "report_to_provider" : finding.device);
  }
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
    Rules, UnknownTest,
    ::testing::Values(UnknownCase{{}, false}, UnknownCase{{{"gpu.present", "drain"}}, true},
                      UnknownCase{{{"gpu.*", "drain"}}, true},
                      UnknownCase{{{"gpu.present", "keep"}}, false},
                      UnknownCase{{{"ib.*", "drain"}}, false},
                      UnknownCase{{{"host.swap", "drain"}}, false},
                      UnknownCase{{{"gpu.*", "drain"}, {"gpu.present", "keep"}}, false},
                      UnknownCase{{{"*", "keep"}, {"gpu.*", "drain"}}, true},
                      UnknownCase{{{"*", "drain"}, {"host.*", "keep"}}, true}));

// The profile says which: another one made the verdict unknown.
TEST(UnknownTest, DrainsOnlyByThoseThatCount) {
  const Finding other{.check = "host.edac", .outcome = Outcome::unknown};
  const Finding finding{.check = "gpu.present", .outcome = Outcome::unknown};
  auto report = report_of(Verdict::unknown, {other, finding});
  auto situation = in_service(report);
  situation.rules.unknown = {{"gpu.present", "drain"}};
  EXPECT_EQ(decide(situation).action, Action::drain);
  report.undecided = {"host.edac"};
  EXPECT_EQ(decide(situation), nothing("the node is in service"));
}

TEST(UnknownTest, DrainsNoNodeOfWhichNothingWasJudged) {
  auto report = report_of(Verdict::unknown, {{.check = "gpu.count", .outcome = Outcome::skip}});
  auto situation = in_service(report);
  situation.rules.unknown = {{"*", "drain"}};
  EXPECT_EQ(decide(situation), nothing("the node is in service"));
  report = Report{};
  EXPECT_EQ(decide(situation), nothing("the node is in service"));
}

TEST(UnknownTest, DrainsNoNodeForWhatWasNotObserved) {
  auto report = report_of(Verdict::unknown, {{.check = "host.swap", .outcome = Outcome::warn},
                                             {.check = "host.cpu", .outcome = Outcome::pass}});
  report.coverage.not_observed = {{"GPUs", "no NVML", true}};
  auto situation = in_service(report);
  situation.rules.unknown = {{"*", "drain"}};
  EXPECT_EQ(decide(situation), nothing("the node is in service"));
}

// Invariants over all combinations of the values that a node's owner cares about.
class EveryNodeTest : public ::testing::TestWithParam<std::string_view> {};

void expect_respect(const Situation& situation) {
  const auto decision = decide(situation);
  const auto& node = *situation.node;
  const auto standing = standing_of(node);
  const bool is_own = own_drain(node).has_value();
  const bool has_our_words =
      is_ours(node.reason) || (lost_its_reason(node) && !node.memory.empty());
  const auto what = fmt::format("{} \"{}\"", node.state, node.reason);
  EXPECT_FALSE(decision.why.empty()) << what;
  EXPECT_EQ(decision.reason.empty(), decision.action != Action::drain) << what;
  EXPECT_TRUE(decision.reason.empty() || is_ours(decision.reason)) << what;
  if (decision.action == Action::drain) {
    EXPECT_TRUE(decision.sick && standing == Standing::in_service && situation.rules.drain) << what;
  }
  if (decision.action == Action::resume) {
    EXPECT_TRUE(standing == Standing::drained && is_own && has_our_words) << what;
    EXPECT_TRUE(decision.clean || decision.loud) << what;
  }
  if (decision.action == Action::keep) {
    EXPECT_TRUE(standing == Standing::drained && has_our_words) << what;
  }
}

TEST_P(EveryNodeTest, IsLeftToWhomItBelongs) {
  const auto doubtful = report_of(Verdict::unknown, {{.check = "gpu.count"}});
  for (const auto* const report : {&sick_report(), &well_report(), &doubtful}) {
    for (const auto& reason :
         {std::string(), kOurReason, kOurReason + "\n", std::string("muster: ib.rate mlx5_0: slow"),
          std::string("muster-admin: alice: cable"), std::string("Prolog error"),
          std::string("NHC: muster: gpu.count")}) {
      for (const int others : {0, 3}) {
        auto situation = drained_by_muster(*report);
        situation.node->state = GetParam();
        situation.node->reason = reason;
        situation.cluster[1] = *situation.node;
        drain_others(situation, others, kNow - minutes(2));
        expect_respect(situation);
        situation.node->memory = situation.cluster[1].memory = "";
        expect_respect(situation);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(States, EveryNodeTest,
                         ::testing::Values("idle", "idle*", "mixed", "allocated", "drained",
                                           "drained*", "draining", "drained@", "down", "down*",
                                           "fail", "maint", "reboot^", "unknown", ""));

// Judged as an idle node, which means nothing for one in service.
class StrictlySickTest : public ::testing::TestWithParam<PolicyCase> {};

TEST_P(StrictlySickTest, IsKeptWhereItIsDrainedAndNotDrainedWhereItIsNot) {
  auto situation = drained_by_muster(well_report());
  situation.of_drained = &sick_report();
  GetParam().change(situation);
  EXPECT_EQ(decide(situation), GetParam().expected);
}

INSTANTIATE_TEST_SUITE_P(
    Nodes, StrictlySickTest,
    ::testing::Values(
        PolicyCase{"Drained", [](Situation&) {}, about_sick(Action::keep, "gpu.count still fails")},
        PolicyCase{"DrainingBesideAJob",
                   [](Situation& s) { put(s, "draining", kOurReason, "root"); },
                   about_sick(Action::keep, "gpu.count still fails")},
        PolicyCase{"Well", [](Situation& s) { s.of_drained = &well_report(); },
                   Decision{.action = Action::resume,
                            .why = "clean run 3 of 3: gpu.count passes",
                            .check = "gpu.count",
                            .remedy = Remedy::restart_app,
                            .clean = true}},
        PolicyCase{"ResumedByAnAdmin", [](Situation& s) { put(s, "allocated"); },
                   nothing("the node is in service")},
        PolicyCase{"ResumedByAnAdminAndSick",
                   [](Situation& s) {
                     put(s, "allocated");
                     s.report = &sick_report();
                     s.of_drained = &well_report();
                   },
                   the_drain()},
        PolicyCase{"DrainedByAnAdmin", [](Situation& s) { put(s, "drained", "cable", "alice"); },
                   nothing("the node was drained by alice with the reason \"cable\"")},
        PolicyCase{"NotKnown",
                   [](Situation& s) {
                     s.node.reset();
                     s.trouble = "sinfo: no answer within 8 s";
                   },
                   nothing("sinfo: no answer within 8 s")}),
    name_of);

}  // namespace
}  // namespace muster::slurm
