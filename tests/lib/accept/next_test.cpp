// SPDX-License-Identifier: Apache-2.0
#include "lib/accept/next.hpp"

#include "tests/lib/accept/acceptance.hpp"
#include "tests/support/matchers.hpp"

namespace muster::accept {
namespace {

using testing::Field;
using testing::UnorderedElementsAre;

// Node n1 has these outcomes at a stage, one after another; the last one repeats.
Acceptance::NodeOutcome first_fails(Stage stage, std::vector<Outcomes> outcomes) {
  return [=](const std::string& node, Stage at, int number) {
    if (node != "n1" || at != stage) return Outcomes{};
    const auto index = std::min(static_cast<std::size_t>(number), outcomes.size()) - 1;
    return outcomes[index];
  };
}

TEST(NextTest, HealthyNodesPassEveryStageOnce) {
  Acceptance run(4);
  const auto end = run.run();
  EXPECT_TRUE(end.complete);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(run.verdict(end, i), NodeVerdict::accepted);
  for (const auto stage : {Stage::inventory, Stage::check, Stage::node, Stage::after}) {
    EXPECT_EQ(count_of(run, "n2", stage), 1) << to_string(stage);
  }
  EXPECT_EQ(count_of(run, "n2", Stage::soak), 3);  // of 600 s
  std::vector<Stage> groups;
  for (const auto& group : run.results.groups) groups.push_back(group.stage);
  EXPECT_THAT(groups, ElementsAre(Stage::fabric, Stage::whole, Stage::whole, Stage::whole));
}

TEST(NextTest, HardEvidenceIsReadTwice) {
  Acceptance run(4);
  run.on_node = first_fails(Stage::check, {failed(kMissing)});
  const auto end = run.run();
  EXPECT_EQ(run.verdict(end, 1), NodeVerdict::rejected);
  EXPECT_EQ(count_of(run, "n1", Stage::check), 2);
  EXPECT_THAT(end.standings[1].causes, ElementsAre(Field(&Cause::check, "gpu.count")));
  EXPECT_THAT(end.standings[1].why, HasSubstr("gpu.count node"));
}

TEST(NextTest, AReadingThatIsNotRepeatedIsARemark) {
  Acceptance run(4);
  run.on_node = first_fails(Stage::check, {failed(kMissing), Outcomes{}});
  const auto end = run.run();
  EXPECT_EQ(run.verdict(end, 1), NodeVerdict::remarks);
  EXPECT_THAT(end.standings[1].remarks, ElementsAre(Field(&Cause::check, "gpu.count")));
}

TEST(NextTest, MostOfThreeRunsDecideWhatIsSlow) {
  Acceptance run(4);
  run.on_node = first_fails(Stage::node, {failed(kSlow), Outcomes{}, failed(kSlow)});
  EXPECT_EQ(run.verdict(run.run(), 1), NodeVerdict::rejected);
  EXPECT_EQ(count_of(run, "n1", Stage::node), 3);

  Acceptance fine(4);
  fine.on_node = first_fails(Stage::node, {failed(kSlow), Outcomes{}, Outcomes{}});
  EXPECT_EQ(fine.verdict(fine.run(), 1), NodeVerdict::remarks);
  EXPECT_EQ(count_of(fine, "n1", Stage::node), 3);
}

TEST(NextTest, ADifferentPartInEachRunIsNotConfirmed) {
  Acceptance run(4);
  run.on_node = [](const std::string& node, Stage stage, int number) {
    if (node != "n1" || stage != Stage::node) return Outcomes{};
    return failed(cause("bench.gemm", fmt::format("gpu{}", number), Evidence::slow));
  };
  const auto end = run.run();
  EXPECT_EQ(run.verdict(end, 1), NodeVerdict::remarks);
  EXPECT_THAT(end.standings[1].remarks, SizeIs(3));
}

TEST(NextTest, HardFailuresThatDifferEachTimeHoldTheNode) {
  Acceptance run(4);
  run.on_node = [](const std::string& node, Stage stage, int number) {
    if (node != "n1" || stage != Stage::check) return Outcomes{};
    return failed(cause("gpu.ecc", fmt::format("gpu{}", number), Evidence::hard));
  };
  EXPECT_EQ(run.verdict(run.run(), 1), NodeVerdict::held);
}

TEST(NextTest, AFailureOfOursHoldsTheNode) {
  Acceptance run(4);
  run.on_node = first_fails(Stage::check,
                            {failed(cause("host.limits", "node", Evidence::hard, Charge::ours))});
  const auto end = run.run();
  EXPECT_EQ(run.verdict(end, 1), NodeVerdict::held);
  EXPECT_EQ(end.standings[1].charge, Charge::ours);
}

TEST(NextTest, OtherWorkHoldsTheNodeAtOnce) {
  Acceptance run(4);
  run.on_node = first_fails(
      Stage::node, {refused(cause("bench.in_use", "gpu0", Evidence::refused, Charge::ours))});
  EXPECT_EQ(run.verdict(run.run(), 1), NodeVerdict::held);
  EXPECT_EQ(count_of(run, "n1", Stage::node), 1);
}

TEST(NextTest, AnUncertainNodeIsNotTested) {
  Acceptance run(4);
  run.on_node = first_fails(Stage::check,
                            {refused(cause("gpu.ecc", "gpu0", Evidence::uncertain, Charge::open))});
  EXPECT_EQ(run.verdict(run.run(), 1), NodeVerdict::not_tested);
  EXPECT_EQ(count_of(run, "n1", Stage::check), 2);
}

TEST(NextTest, AnEventInTheSoakCostsOneSoak) {
  Acceptance run(4);
  run.on_node = first_fails(Stage::soak, {Outcomes{}, failed(kXid), Outcomes{}});
  const auto end = run.run();
  EXPECT_EQ(run.verdict(end, 1), NodeVerdict::remarks);
  EXPECT_EQ(count_of(run, "n1", Stage::soak), 2 + 3);
  EXPECT_EQ(end.standings[1].soak_events, 1);
}

TEST(NextTest, TwoEventsInTheSoakRejectWhateverTheyAre) {
  Acceptance run(4);
  const auto flap = cause("ib.flaps", "mlx5_0", Evidence::event);
  run.on_node =
      first_fails(Stage::soak, {Outcomes{}, failed(kXid), Outcomes{}, failed(flap), Outcomes{}});
  const auto end = run.run();
  EXPECT_EQ(run.verdict(end, 1), NodeVerdict::rejected);
  EXPECT_EQ(end.standings[1].soak_events, 2);
}

TEST(NextTest, AnInterruptedSliceOnlyRepeats) {
  Acceptance run(4);
  run.on_node = first_fails(Stage::soak,
                            {Outcomes{}, {.end = AttemptEnd::interrupted}, Outcomes{}, Outcomes{}});
  EXPECT_EQ(run.verdict(run.run(), 1), NodeVerdict::accepted);
  EXPECT_EQ(count_of(run, "n1", Stage::soak), 4);
}

TEST(NextTest, AStepThatIsAlwaysInterruptedIsGivenUp) {
  Acceptance run(4);
  run.on_node = first_fails(Stage::node, {{.end = AttemptEnd::interrupted}});
  const auto end = run.run();
  EXPECT_EQ(run.verdict(end, 1), NodeVerdict::not_tested);
  EXPECT_EQ(count_of(run, "n1", Stage::node), 5);

  Acceptance group(4);
  group.on_group = [](const GroupAttempt&) { return Outcomes{.end = AttemptEnd::interrupted}; };
  const auto none = group.run();
  EXPECT_TRUE(none.complete);
  EXPECT_EQ(group.verdict(none, 0), NodeVerdict::not_tested);
}

// The end of a job may end steps before the driver hears of it.
TEST(NextTest, ASecondInterruptionInARowIsFollowedByAPause) {
  Acceptance run(1);
  for (const std::int64_t number : {1, 2}) {
    EXPECT_EQ(run.ask().nodes.size(), 1U);
    run.results.attempts.push_back({.node = "n0",
                                    .stage = Stage::inventory,
                                    .number = number,
                                    .end = AttemptEnd::interrupted,
                                    .started = run.now,
                                    .ended = run.now});
  }
  const auto paused = run.ask();
  EXPECT_TRUE(paused.nodes.empty());
  EXPECT_EQ(paused.wake, run.now + 60);
}

TEST(NextTest, ALostNodeIsCheckedAgainAndRejectedTheSecondTime) {
  Acceptance run(4);
  run.on_node = first_fails(Stage::soak, {Outcomes{}, {.end = AttemptEnd::lost}, Outcomes{}});
  EXPECT_EQ(run.verdict(run.run(), 1), NodeVerdict::remarks);
  EXPECT_EQ(count_of(run, "n1", Stage::check), 2);

  Acceptance twice(4);
  twice.on_node =
      first_fails(Stage::soak, {Outcomes{}, {.end = AttemptEnd::lost}, {.end = AttemptEnd::lost}});
  EXPECT_EQ(twice.verdict(twice.run(), 1), NodeVerdict::rejected);
}

TEST(NextTest, ANodeThatDoesNotReturnIsRejected) {
  Acceptance run(4);
  run.on_node = [](const std::string& node, Stage stage, int number) {
    const bool gone =
        node == "n1" && (stage == Stage::node || (stage == Stage::check && number > 1));
    return Outcomes{.end = gone ? AttemptEnd::lost : AttemptEnd::pass};
  };
  const auto end = run.run();
  EXPECT_EQ(run.verdict(end, 1), NodeVerdict::rejected);
  EXPECT_THAT(end.standings[1].why, HasSubstr("did not return"));
}

TEST(NextTest, ALostNodeIsAskedOnceMoreBeforeItIsRejected) {
  Acceptance run(1);
  const auto add = [&](Stage stage, std::int64_t number, AttemptEnd end) {
    run.results.attempts.push_back({.node = "n0",
                                    .stage = stage,
                                    .number = number,
                                    .end = end,
                                    .started = run.now,
                                    .ended = run.now});
  };
  add(Stage::inventory, 1, AttemptEnd::pass);
  add(Stage::check, 1, AttemptEnd::lost);
  run.now += 10 * run.order.plan.return_s;  // no driver ran
  EXPECT_EQ(run.ask().nodes.size(), 1U);
  add(Stage::check, 2, AttemptEnd::interrupted);
  EXPECT_EQ(run.ask().nodes.size(), 1U);
  run.reachable[0] = false;
  const auto elsewhere = run.ask();
  EXPECT_EQ(run.verdict(elsewhere, 0), NodeVerdict::pending);
  EXPECT_FALSE(elsewhere.wake);
  run.reachable[0] = true;
  add(Stage::check, 3, AttemptEnd::lost);
  EXPECT_EQ(run.verdict(run.ask(), 0), NodeVerdict::rejected);
}

TEST(NextTest, ANodeThatNeverAnsweredIsNotTested) {
  Acceptance run(4);
  run.on_node = [](const std::string& node, Stage, int) {
    return Outcomes{.end = node == "n1" ? AttemptEnd::lost : AttemptEnd::pass};
  };
  const auto end = run.run();
  EXPECT_EQ(run.verdict(end, 1), NodeVerdict::not_tested);
  EXPECT_TRUE(end.complete);
}

TEST(NextTest, ARebootBetweenAttemptsIsALoss) {
  Acceptance run(4);
  run.run();
  for (auto& attempt : run.results.attempts) {
    const bool late = attempt.node == "n1" && attempt.stage == Stage::soak && attempt.number > 1;
    attempt.boot_id = late ? "second" : "first";
  }
  std::erase_if(run.results.attempts, [](const Attempt& attempt) {
    return attempt.node == "n1" && attempt.stage == Stage::after;
  });
  const auto actions = run.ask();
  EXPECT_EQ(actions.standings[1].stage, Stage::check);
  EXPECT_THAT(actions.nodes, ElementsAre(NodeStart{.node = 1, .stage = Stage::check, .number = 2}));
}

TEST(NextTest, ANodeThatLocateNamesIsRetestedWithProvenPartners) {
  Acceptance run(8);
  run.on_group = [](const GroupAttempt& attempt) {
    if (attempt.stage != Stage::fabric) return Outcomes{};
    auto named = cause("bench.locate", "n5", Evidence::slow);
    named.node = "n5";
    return failed(named);
  };
  const auto end = run.run();
  EXPECT_EQ(run.verdict(end, 5), NodeVerdict::rejected);
  EXPECT_EQ(run.verdict(end, 0), NodeVerdict::accepted);
  std::vector<std::size_t> sizes;
  for (const auto& group : run.results.groups) {
    if (group.stage == Stage::fabric) sizes.push_back(group.nodes.size());
  }
  EXPECT_THAT(sizes, ElementsAre(8, 1 + 3));
}

TEST(NextTest, BothNodesOfASlowPairAreHeld) {
  Acceptance run(8);
  run.on_group = [](const GroupAttempt& attempt) {
    if (attempt.stage != Stage::fabric) return Outcomes{};
    auto named = cause("bench.locate", "n1-n2", Evidence::pair);
    named.node = "n1";
    named.other = "n2";
    return failed(named);
  };
  const auto end = run.run();
  EXPECT_EQ(run.verdict(end, 1), NodeVerdict::held);
  EXPECT_EQ(run.verdict(end, 2), NodeVerdict::held);
  EXPECT_EQ(run.verdict(end, 3), NodeVerdict::accepted);
}

TEST(NextTest, ASingleNodeIsAcceptedWithoutGroupStages) {
  Acceptance run(1);
  const auto end = run.run();
  EXPECT_EQ(run.verdict(end, 0), NodeVerdict::accepted);
  EXPECT_THAT(run.results.groups, IsEmpty());
}

TEST(NextTest, GroupStagesWaitForNodesThatMayCome) {
  Acceptance run(4);
  run.reachable[3] = false;
  const auto start = run.now;
  const auto end = run.run();
  ASSERT_FALSE(run.results.groups.empty());
  EXPECT_GE(run.results.groups.front().started, start + run.order.plan.wait_s);
  EXPECT_THAT(run.results.groups.front().nodes, SizeIs(3));
  // Only the first of them waits.
  for (std::size_t i = 1; i < 4; ++i) {
    EXPECT_EQ(run.results.groups.at(i).started, run.results.groups.at(i - 1).ended);
  }
  EXPECT_EQ(run.verdict(end, 3), NodeVerdict::pending);
  EXPECT_FALSE(end.complete);

  run.reachable[3] = true;  // it comes with another allocation
  const auto later = run.run();
  EXPECT_TRUE(later.complete);
  EXPECT_EQ(run.verdict(later, 3), NodeVerdict::accepted);
}

TEST(NextTest, WithoutAWaitANodeStillNeedsAnotherOneForTheGroupStages) {
  Acceptance run(3);
  run.order.plan.wait_s = 0;
  run.on_node = [](const std::string& node, Stage stage, int number) {
    const bool late = node != "n1" && stage == Stage::node && number == 1;
    return Outcomes{.end = late ? AttemptEnd::interrupted : AttemptEnd::pass};
  };
  const auto end = run.run();
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(run.verdict(end, i), NodeVerdict::accepted);
    EXPECT_GE(groups_of(run, fmt::format("n{}", i), Stage::fabric), 1);
    EXPECT_GE(groups_of(run, fmt::format("n{}", i), Stage::whole), 1);
  }
}

TEST(NextTest, ANodeThatIsLeftAloneIsNotTested) {
  for (const auto stage : {Stage::node, Stage::fabric}) {
    Acceptance run(2);
    run.on_node = first_fails(Stage::node, {stage == Stage::node ? failed(kMissing) : Outcomes{}});
    run.on_group = [&](const GroupAttempt& attempt) {
      if (attempt.stage != stage) return Outcomes{};
      auto named = cause("bench.locate", "n1", Evidence::slow);
      named.node = "n1";
      return failed(named);
    };
    const auto end = run.run();
    EXPECT_TRUE(end.complete);
    EXPECT_EQ(run.verdict(end, 1), NodeVerdict::rejected);
    EXPECT_EQ(run.verdict(end, 0), NodeVerdict::not_tested);
    EXPECT_THAT(end.standings[0].why, HasSubstr("no other node"));
  }
}

TEST(NextTest, ANodeWaitsForTheOnlyOtherOneAsLongAsThatMayCome) {
  Acceptance run(2);
  run.reachable[1] = false;
  const auto end = run.run();
  EXPECT_GE(run.now, end.standings[0].since + run.order.plan.wait_s);
  EXPECT_EQ(run.verdict(end, 0), NodeVerdict::pending);
  EXPECT_EQ(end.standings[0].stage, Stage::fabric);
  run.reachable[1] = true;
  EXPECT_EQ(run.verdict(run.run(), 0), NodeVerdict::accepted);

  Acceptance apart(2);  // both passed the node stage, in an allocation each
  apart.reachable = {true, false};
  (void)apart.run();
  apart.reachable = {false, true};
  const auto second = apart.run();
  EXPECT_EQ(apart.verdict(second, 0), NodeVerdict::pending);
  EXPECT_EQ(apart.verdict(second, 1), NodeVerdict::pending);
}

TEST(NextTest, AWholeGroupBelowItsLimitStopsTheRun) {
  Acceptance run(8);
  run.on_group = [](const GroupAttempt& attempt) {
    if (attempt.stage != Stage::whole) return Outcomes{};
    return failed(cause("bench.job_all_reduce", "job", Evidence::slow));
  };
  const auto end = run.run();
  EXPECT_FALSE(end.complete);
  ASSERT_THAT(end.breakers, SizeIs(1));
  EXPECT_EQ(end.breakers[0].check, "bench.job_all_reduce");
  EXPECT_THAT(end.standings, Each(Field(&NodeStanding::verdict, NodeVerdict::held)));

  run.results.decisions.push_back(
      {.kind = DecisionKind::go_on, .check = "bench.job_all_reduce", .at = run.now});
  const auto later = run.run();
  EXPECT_TRUE(later.complete);
  for (const auto& standing : later.standings) {
    EXPECT_EQ(standing.verdict, NodeVerdict::remarks);
    EXPECT_THAT(standing.remarks,
                ElementsAre(Field(&Cause::message, HasSubstr("in 3 of 3 runs, and an admin"))));
  }
}

TEST(NextTest, AMissingGroupResultNeverCountsAsAPass) {
  for (const auto stage : {Stage::fabric, Stage::whole}) {
    Acceptance run(4);
    EXPECT_TRUE(run.run().complete);
    const auto lost = std::ranges::find(run.results.groups, stage, &GroupAttempt::stage);
    run.results.groups.erase(lost);
    const auto actions = run.ask();
    EXPECT_FALSE(actions.complete) << to_string(stage);
    EXPECT_EQ(actions.standings[0].stage, stage);
    EXPECT_TRUE(run.run().complete);
    EXPECT_EQ(groups_of(run, "n0", stage), stage == Stage::whole ? 3 : 1);
  }
}

TEST(NextTest, TheRecordAloneSaysThatANodeDidNotReturn) {
  for (const bool answers_first : {false, true}) {
    Acceptance run(4);
    run.on_node = [&](const std::string& node, Stage stage, int) {
      const bool lost = node == "n3" && !(answers_first && stage == Stage::inventory);
      if (lost) run.reachable[3] = false;
      return Outcomes{.end = lost ? AttemptEnd::lost : AttemptEnd::pass};
    };
    const auto end = run.run();
    EXPECT_EQ(run.verdict(end, 3), answers_first ? NodeVerdict::rejected : NodeVerdict::not_tested);
    run.reachable.assign(4, true);
    EXPECT_EQ(run.ask().standings, end.standings);
  }
}

TEST(NextTest, OneFailureOfManyNodesStopsTheStage) {
  Acceptance run(10);
  run.on_node = [](const std::string& node, Stage stage, int) {
    const bool hot = stage == Stage::check && (node == "n1" || node == "n2" || node == "n3");
    return hot ? failed(kMissing) : Outcomes{};
  };
  const auto end = run.run();
  ASSERT_THAT(end.breakers, SizeIs(1));
  EXPECT_THAT(end.breakers[0].nodes, UnorderedElementsAre("n1", "n2", "n3"));
  EXPECT_EQ(run.verdict(end, 1), NodeVerdict::held);
  EXPECT_EQ(end.standings[1].charge, Charge::open);

  run.results.decisions.push_back(
      {.kind = DecisionKind::go_on, .check = "gpu.count", .at = run.now});
  const auto later = run.run();
  EXPECT_TRUE(later.complete);
  EXPECT_EQ(run.verdict(later, 1), NodeVerdict::rejected);
  EXPECT_EQ(run.verdict(later, 0), NodeVerdict::accepted);
}

TEST(NextTest, TwoNodesWithOneSerialAreHeld) {
  Acceptance run(4);
  run.on_node = [](const std::string&, Stage, int) { return Outcomes{}; };
  run.run();
  for (auto& attempt : run.results.attempts) {
    if (attempt.node == "n1" || attempt.node == "n2") attempt.serials = {"same"};
  }
  std::erase_if(run.results.attempts,
                [](const Attempt& attempt) { return attempt.stage == Stage::after; });
  const auto actions = run.ask();
  EXPECT_EQ(actions.standings[1].verdict, NodeVerdict::held);
  EXPECT_THAT(actions.standings[1].why, HasSubstr("n2 has the same serial same"));
  EXPECT_EQ(actions.standings[2].verdict, NodeVerdict::held);
  EXPECT_EQ(actions.standings[2].stage, Stage::inventory);
  EXPECT_EQ(actions.standings[2].why, "accept.serial node: n1 has the same serial same");
  EXPECT_EQ(actions.standings[0].verdict, NodeVerdict::pending);
}

TEST(NextTest, ARetestBeginsAnew) {
  Acceptance run(4);
  run.on_node = first_fails(Stage::check, {failed(kMissing), failed(kMissing), Outcomes{}});
  EXPECT_EQ(run.verdict(run.run(), 1), NodeVerdict::rejected);
  run.results.decisions.push_back({.kind = DecisionKind::retest, .nodes = {"n1"}, .at = run.now});
  const auto end = run.run();
  EXPECT_EQ(run.verdict(end, 1), NodeVerdict::accepted);
  EXPECT_EQ(count_of(run, "n1", Stage::check), 3);
}

TEST(NextTest, AWithdrawnNodeIsLeftAlone) {
  Acceptance run(4);
  run.results.decisions.push_back(
      {.kind = DecisionKind::withdraw, .nodes = {"n1"}, .why = "sent back", .at = run.now});
  const auto end = run.run();
  EXPECT_EQ(run.verdict(end, 1), NodeVerdict::withdrawn);
  EXPECT_EQ(end.standings[1].why, "sent back");
  EXPECT_EQ(count_of(run, "n1", Stage::inventory), 0);
  EXPECT_TRUE(end.complete);
}

TEST(NextTest, DecisionsOfOneSecondApplyInTheirOrder) {
  Acceptance run(4);
  const auto decide = [&](DecisionKind kind, const char* why) {
    run.results.decisions.push_back({.kind = kind, .nodes = {"n1"}, .why = why, .at = run.now});
  };
  decide(DecisionKind::withdraw, "first");
  decide(DecisionKind::withdraw, "second");
  EXPECT_EQ(run.ask().standings[1].why, "second");
  decide(DecisionKind::retest, "");
  EXPECT_EQ(run.verdict(run.ask(), 1), NodeVerdict::pending);
}

TEST(NextTest, ARunningAttemptIsNotStartedAgain) {
  Acceptance run(2);
  run.results.attempts.push_back({.node = "n0", .number = 1, .started = run.now});
  const auto actions = run.ask();
  EXPECT_THAT(actions.nodes, ElementsAre(NodeStart{.node = 1}));
  EXPECT_TRUE(actions.standings[0].running);
}

TEST(NextTest, LongSoaksAreBrokenByAllReducesOfAllNodes) {
  Acceptance run(4);
  run.order.plan.soak_s = 4 * 3'600;
  run.run();
  const auto rounds = std::ranges::count(run.results.groups, Stage::soak, &GroupAttempt::stage);
  EXPECT_EQ(rounds, 3);
}

}  // namespace
}  // namespace muster::accept
