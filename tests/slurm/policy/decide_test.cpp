// SPDX-License-Identifier: Apache-2.0
#include "slurm/policy/decide.hpp"

#include <map>

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

TEST(SickTest, IsDrainedIfMusterMay) {
  expect_decisions(
      in_service(sick_report()),
      {{"idle", {}, the_drain()},
       {"allocated", {shown_as("allocated")}, the_drain()},
       {"not known",
        {unknown_because("sinfo: no answer within 8 s")},
        about_sick(Action::nothing, "sinfo: no answer within 8 s")},
       {"drained by Slurm",
        {shown_as("drained", "Prolog error", "slurm")},
        about_sick(Action::nothing,
                   "the node was drained by slurm with the reason \"Prolog error\"")},
       {"drained by an admin",
        {shown_as("draining", "muster-admin: alice: cable", "root")},
        about_sick(Action::nothing,
                   "the node was drained by root with the reason \"muster-admin: alice: cable\"")},
       {"drained without a reason",
        {shown_as("drained")},
        about_sick(Action::nothing, "the node was drained without a reason")},
       {"drained with a reason of two lines",
        {shown_as("drained", "a\nb")},
        about_sick(Action::nothing, "the node was drained with the reason \"a\\x0ab\"")},
       {"down",
        {shown_as("down*", "Not responding", "slurm")},
        about_sick(Action::nothing, "the node is \"down*\" in Slurm")},
       {"rebooting",
        {shown_as("reboot", "muster: x", "root")},
        about_sick(Action::nothing, "the node is \"reboot\" in Slurm")},
       {"drained by muster without a memory",
        {shown_as("drained", "muster: ib.rate mlx5_0: slow", "root")},
        about_sick(Action::keep, "gpu.count fails; the node was drained for ib.rate mlx5_0")},
       {"drained by an admin with a reason like muster's",
        {shown_as("drained", "muster: ib.rate mlx5_0: slow", "alice")},
        about_sick(
            Action::nothing,
            "the node was drained by alice with the reason \"muster: ib.rate mlx5_0: slow\"")},
       {"drain: false",
        {with_rule(&Rules::drain, false)},
        refused("drain: false in muster.yaml")}});
}

// Others that muster drained, against a share of two nodes.
void drain_others(Situation& situation, int count, std::optional<Time> since) {
  for (int i = 0; i < count; ++i) {
    auto& node = situation.cluster[static_cast<std::size_t>(i) + 5];
    node = drained(node, fmt::format("muster: ib.rate mlx5_{}: slow", i), since);
  }
}

Change with_others(int count, std::optional<Time> since) {
  return [=](Situation& s) { drain_others(s, count, since); };
}

Decision used_up() {
  return refused("2 of 2 nodes that muster may drain in partition main within 1 h are drained");
}

TEST(ShareTest, IsNotExceeded) {
  auto situation = in_service(sick_report());
  situation.rules.most_drained = "20%";
  const auto window_begin = kNow - minutes(60);
  expect_decisions(
      situation,
      {{"one less", {with_others(1, kNow)}, the_drain()},
       {"as many", {with_others(2, kNow)}, used_up()},
       {"just within the window",
        {with_others(2, window_begin + std::chrono::seconds(1))},
        used_up()},
       {"before the window", {with_others(2, window_begin)}, the_drain()},
       {"at an unknown time", {with_others(2, std::nullopt)}, used_up()},
       {"down by now",
        {with_others(2, kNow), with_rule(&Rules::most_drained, "25%"),  // of nine that are up
         [](Situation& s) { s.cluster[5].state = "down*"; },
         [](Situation& s) { s.cluster[6].state = "drained@"; }},
        used_up()},
       {"resumed by now",
        {with_others(2, kNow), [](Situation& s) { s.cluster[5].state = "idle"; }},
        the_drain()},
       {"drained by others",
        {with_others(2, kNow), [](Situation& s) { s.cluster[5].reason = "NHC: check_hw_ib"; },
         [](Situation& s) { s.cluster[6].reason = "muster-admin: alice: cable"; }},
        the_drain()},
       {"in another partition",
        {with_others(1, kNow),
         [](Situation& s) {
           s.cluster.push_back(drained({.name = "n10", .partitions = {"long"}}, kOurReason, kNow));
         }},
        the_drain()},
       {"half of all at any time",
        {with_others(5, kNow - hours(100))},
        refused("5 of 5 nodes that may be drained by muster at a time in partition main are "
                "drained")},
       {"less than half of all at any time", {with_others(4, kNow - hours(100))}, the_drain()},
       {"in one of its partitions",
        {with_others(1, kNow),
         [](Situation& s) {
           s.cluster[5].partitions = {"main", "small"};
         },
         [](Situation& s) {
           s.node->partitions = s.cluster[1].partitions = {"main", "small"};
         }},
        refused("1 of 1 nodes that muster may drain in partition small within 1 h are "
                "drained")}});
}

TEST(SickTest, UndoesADrainBeyondTheShare) {
  auto situation = drained_by_muster(sick_report());
  remember(situation, &NodeMemory::settled, false);
  const auto at = current_drain(situation)->at;
  const auto before = at - minutes(1);
  EXPECT_EQ(decide(situation).action, Action::keep);

  situation.cluster[9] = drained(situation.cluster[9], kOurReason, before);
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

TEST(SickTest, NamesTheMostSeriousFailure) {
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

TEST(SickTest, NeedsAFailedFinding) {
  auto warning = sick_finding();
  warning.outcome = Outcome::warn;
  for (const auto& findings : {std::vector<Finding>{}, {warning}}) {
    const auto report = report_of(Verdict::unhealthy, findings);
    EXPECT_EQ(decide(in_service(report)), nothing("the node is in service"));
    EXPECT_EQ(decide(drained_by_muster(report)).action, Action::keep);
    EXPECT_FALSE(decide(drained_by_muster(report)).clean);
  }
}

TEST(UnknownTest, DrainsIfTheSiteWantsIt) {
  struct Case {
    std::map<std::string, std::string> rules;
    bool drains;
  };

  const Finding warning{.check = "host.swap", .outcome = Outcome::warn};
  const Finding other{.check = "host.edac", .outcome = Outcome::unknown, .message = "no access"};
  const Finding finding{.check = "gpu.present",
                        .device = "gpu3",
                        .outcome = Outcome::unknown,
                        .message = "no answer within 5 s",
                        .remedy = Remedy::reboot};
  const auto report = report_of(Verdict::unknown, {other, finding, warning});
  auto situation = in_service(report);
  const Decision drain{.action = Action::drain,
                       .why = "gpu.present gpu3: no answer within 5 s; reboot the node",
                       .reason = "muster: gpu.present gpu3: no answer within 5 s; reboot the node",
                       .check = "gpu.present",
                       .device = "gpu3",
                       .remedy = Remedy::reboot,
                       .sick = true};
  const std::vector<Case> cases{{{}, false},
                                {{{"gpu.present", "drain"}}, true},
                                {{{"gpu.*", "drain"}}, true},
                                {{{"gpu.present", "keep"}}, false},
                                {{{"ib.*", "drain"}}, false},
                                {{{"host.swap", "drain"}}, false},
                                {{{"gpu.*", "drain"}, {"gpu.present", "keep"}}, false},
                                {{{"*", "keep"}, {"gpu.*", "drain"}}, true},
                                {{{"*", "drain"}, {"host.*", "keep"}}, true}};
  for (const auto& [rules, drains] : cases) {
    situation.rules.unknown = rules;
    EXPECT_EQ(decide(situation), drains ? drain : nothing("the node is in service"));
  }
}

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

TEST(UnknownTest, DrainsNoNodeIfNothingWasJudged) {
  auto report = report_of(Verdict::unknown, {{.check = "gpu.count", .outcome = Outcome::skip}});
  auto situation = in_service(report);
  situation.rules.unknown = {{"*", "drain"}};
  EXPECT_EQ(decide(situation), nothing("the node is in service"));
  report = Report{};
  EXPECT_EQ(decide(situation), nothing("the node is in service"));
}

TEST(UnknownTest, DrainsNoNodeForAnUnobservedPart) {
  auto report = report_of(Verdict::unknown, {{.check = "host.swap", .outcome = Outcome::warn},
                                             {.check = "host.cpu", .outcome = Outcome::pass}});
  report.coverage.not_observed = {{"GPUs", "no NVML", true}};
  auto situation = in_service(report);
  situation.rules.unknown = {{"*", "drain"}};
  EXPECT_EQ(decide(situation), nothing("the node is in service"));
}

// Invariants over all combinations of the values that a node's owner cares about.
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

void expect_respect(const Report& report, std::string_view state, const std::string& reason,
                    int others) {
  auto situation = drained_by_muster(report);
  situation.node->state = state;
  situation.node->reason = reason;
  situation.cluster[1] = *situation.node;
  drain_others(situation, others, kNow - minutes(2));
  expect_respect(situation);
  situation.node->memory = situation.cluster[1].memory = "";
  expect_respect(situation);
}

TEST(EveryNodeTest, IsChangedOnlyIfMusterMay) {
  const auto doubtful = report_of(Verdict::unknown, {{.check = "gpu.count"}});
  const std::vector<std::string> reasons{"",
                                         kOurReason,
                                         kOurReason + "\n",
                                         "muster: ib.rate mlx5_0: slow",
                                         "muster-admin: alice: cable",
                                         "Prolog error",
                                         "NHC: muster: gpu.count"};
  for (const auto* const state :
       {"idle", "idle*", "mixed", "allocated", "drained", "drained*", "draining", "drained@",
        "down", "down*", "fail", "maint", "reboot^", "unknown", ""}) {
    for (const auto* const report : {&sick_report(), &well_report(), &doubtful}) {
      for (const auto& reason : reasons) {
        for (const int others : {0, 3}) expect_respect(*report, state, reason, others);
      }
    }
  }
}

// Judged as an idle node, which means nothing for one in service.
TEST(StrictlySickTest, IsKeptIfDrainedAndNotDrainedIfInService) {
  auto situation = drained_by_muster(well_report());
  situation.of_drained = &sick_report();
  const auto kept = about_sick(Action::keep, "gpu.count still fails");
  expect_decisions(
      situation,
      {{"drained", {}, kept},
       {"draining beside a job", {shown_as("draining", kOurReason, "root")}, kept},
       {"well",
        {with(&Situation::of_drained, &well_report())},
        {.action = Action::resume,
         .why = "clean run 3 of 3: gpu.count passes",
         .check = "gpu.count",
         .remedy = Remedy::restart_app,
         .clean = true}},
       {"resumed by an admin", {shown_as("allocated")}, nothing("the node is in service")},
       {"resumed by an admin and sick",
        {shown_as("allocated"), with(&Situation::report, &sick_report()),
         with(&Situation::of_drained, &well_report())},
        the_drain()},
       {"drained by an admin",
        {shown_as("drained", "cable", "alice")},
        nothing("the node was drained by alice with the reason \"cable\"")},
       {"not known",
        {unknown_because("sinfo: no answer within 8 s")},
        nothing("sinfo: no answer within 8 s")}});
}

}  // namespace
}  // namespace muster::slurm
