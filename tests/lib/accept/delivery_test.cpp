// SPDX-License-Identifier: Apache-2.0
#include "lib/accept/delivery.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "lib/accept/node_claim.hpp"
#include "lib/base/json_write.hpp"
#include "tests/lib/accept/sample_delivery.hpp"
#include "tests/support/matchers.hpp"

namespace muster::accept {
namespace {

Measurement measured(std::string quantity, std::string device, double value) {
  return {.quantity = std::move(quantity),
          .value = value,
          .unit = "GB/s",
          .conditions = {.test = "gpu.copy", .device = std::move(device)}};
}

Finding judged(std::string device, Outcome outcome, double observed, double limit) {
  return {.check = "bench.host_copy",
          .device = std::move(device),
          .outcome = outcome,
          .observed = observed,
          .limit = limit,
          .unit = "GB/s"};
}

NodeFacts learnt(const std::vector<std::pair<Attempt, Report>>& answers) {
  NodeFacts facts;
  for (const auto& [attempt, report] : answers) learn(facts, attempt, {.reports = {report}});
  return facts;
}

TEST(FactsTest, KeepTheWorstDeviceAndTheLimitThatJudgedIt) {
  const Report report{.findings = {judged("node", Outcome::pass, 48, 45)},
                      .measurements = {measured("up", "gpu0", 51), measured("up", "gpu1", 48),
                                       measured("down", "gpu0", 50)}};
  const auto facts = learnt({{{.stage = Stage::node, .ended = 1}, report}});
  ASSERT_EQ(facts.quantities.size(), 2U);
  EXPECT_EQ(facts.quantities[0].name, "gpu.copy down");
  EXPECT_EQ(facts.quantities[0].limit, std::nullopt);
  EXPECT_EQ(facts.quantities[1].device, "gpu1");
  EXPECT_EQ(facts.quantities[1].value, 48);
  EXPECT_EQ(facts.quantities[1].limit, 45);
}

TEST(FactsTest, AFailedDeviceGivesTheLimitOfAllDevices) {
  const Report report{
      .findings = {judged("gpu1", Outcome::warn, 46, 47), judged("gpu0", Outcome::fail, 44, 45)},
      .measurements = {measured("up", "gpu0", 44), measured("up", "gpu1", 46)}};
  const auto facts = learnt({{{.stage = Stage::node, .ended = 1}, report}});
  EXPECT_EQ(facts.quantities.at(0).limit, 45);
}

TEST(FactsTest, PreferTheFullTestAndTheNewestOfThemInAnyOrder) {
  const auto report = [](double value) {
    return Report{.measurements = {measured("up", "gpu0", value)}};
  };
  std::vector<std::pair<Attempt, Report>> answers{
      {{.stage = Stage::node, .ended = 1}, report(40)},
      {{.stage = Stage::node, .ended = 2}, report(41)},
      {{.stage = Stage::after, .ended = 3}, report(42)}};
  do {
    EXPECT_EQ(learnt(answers).quantities.at(0).value, 41);
    std::rotate(answers.begin(), answers.begin() + 1, answers.end());
  } while (answers.front().first.ended != 1);
}

TEST(DeliveryTest, CountsEveryNodeOnce) {
  const auto& delivery = delivery_of_64();
  const auto& counts = delivery.counts;
  EXPECT_EQ(delivery.state, DeliveryState::complete);
  EXPECT_EQ(counts.accepted, 60);
  EXPECT_EQ(counts.with_remarks, 2);
  EXPECT_EQ(counts.rejected, 2);
  EXPECT_EQ(counts.held, 1);
  EXPECT_EQ(counts.not_tested, 1);
  EXPECT_EQ(delivery.terms_verdict, TermsVerdict::not_met);
}

TEST(DeliveryTest, NothingMissingIsAPass) {
  SampleDelivery unstarted(3);
  unstarted.facts.resize(3);
  unstarted.actions = next(unstarted.order, {}, {true, true, true}, 1);
  const auto delivery =
      make_delivery(unstarted.order, {}, unstarted.actions, unstarted.facts, {}, {});
  EXPECT_EQ(delivery.counts.pending, 3);
  EXPECT_EQ(delivery.counts.accepted, 0);
  EXPECT_EQ(delivery.terms_verdict, TermsVerdict::open);
}

TEST(DeliveryTest, ACardHasTheEvidence) {
  const auto& delivery = delivery_of_64();
  const auto& card = delivery.cards.at(0);
  EXPECT_EQ(card.node, "gpu-012");
  EXPECT_EQ(card.charge, Charge::provider);
  ASSERT_EQ(card.causes.size(), 1U);
  EXPECT_EQ(card.causes[0].limit, Value(640.0));
  EXPECT_EQ(card.causes[0].source, "profile nd96isr_h100_v5");
  EXPECT_EQ(card.causes[0].category, "Resource.Hpc.Unhealthy.HpcGenericFailure");
  ASSERT_EQ(card.parts.size(), 1U);
  EXPECT_EQ(card.parts[0].device, "gpu3");
  EXPECT_THAT(card.attempts.back().result, HasSubstr("fails below 640"));
  EXPECT_EQ(card.attempts.back().started.size(), 20U);
}

TEST(DeliveryTest, SlicesThatPassedAreOnlyCounted) {
  const auto& delivery = delivery_of_64();
  const auto& card = delivery.cards.at(1);
  EXPECT_EQ(card.node, "gpu-033");
  EXPECT_GT(card.passed_slices, 20);
  EXPECT_EQ(
      std::ranges::count_if(card.attempts, [](auto& each) { return each.stage == Stage::soak; }),
      2);
  EXPECT_THAT(card.kernel_lines, ElementsAre(HasSubstr("Xid (PCI:0007:00:00): 48")));
}

TEST(DeliveryTest, AnInventoryFailsIfAnotherNodeHasTheSameSerial) {
  SampleDelivery sample(4);
  sample.hours = 1;
  sample.edit = [](StepAnswer& answer) {
    const bool shares = answer.host == "gpu-001" || answer.host == "gpu-002";
    if (shares && !answer.parts.empty()) answer.parts[0].serial = "5";
  };
  const auto delivery = sample.make();
  const auto card = std::ranges::find(delivery.cards, "gpu-001", &NodeCard::node);
  ASSERT_NE(card, delivery.cards.end());
  EXPECT_EQ(card->stage, Stage::inventory);
  EXPECT_EQ(card->why, "accept.serial node: gpu-002 has the same serial 5");
  ASSERT_THAT(card->attempts, Not(IsEmpty()));
  EXPECT_EQ(card->attempts[0].end, AttemptEnd::fail);
  EXPECT_EQ(card->attempts[0].result, card->why);
}

TEST(DeliveryTest, PartnersAreProvenIfTheyWereNeverNamed) {
  Order order{.id = "1", .plan = *shipped_plan("standard"), .nodes = {{"a"}, {"b"}, {"c"}}};
  Results results;
  const Cause named{.node = "a", .check = "bench.locate", .device = "a", .other = "c"};
  results.groups = {{.nodes = {"a", "b", "c"}, .end = AttemptEnd::fail, .causes = {named}}};
  Actions actions;
  actions.standings.resize(3);
  actions.standings[0].verdict = NodeVerdict::rejected;
  const auto delivery = make_delivery(order, results, actions, std::vector<NodeFacts>(3), {}, {});
  EXPECT_THAT(delivery.cards.at(0).partners, ElementsAre(Partner{"b", true}, Partner{"c", false}));
}

CardAttempt failure_at(std::string ended, std::string fault) {
  return {.end = AttemptEnd::fail,
          .ended = std::move(ended),
          .boot_id = "a",
          .failed = {std::move(fault)}};
}

TEST(NodeClaimTest, NeedsTheProofThatEveryClaimNeeds) {
  NodeCard card{.node = "n1", .causes = {{.check = "bench.gemm", .device = "gpu3"}}};
  card.attempts = {failure_at("2026-11-01T10:00:00Z", "bench.gemm gpu3"),
                   failure_at("2026-11-01T10:05:00Z", "bench.gemm gpu3"),
                   failure_at("2026-11-01T10:30:00Z", "bench.gemm gpu4")};
  EXPECT_THAT(repair::missing_proof(claim_of(card)),
              HasSubstr("bench.gemm gpu3 is not proven (seen 2 times, last at "
                        "2026-11-01T10:05:00Z)"));
  EXPECT_THAT(repair::claim_text(claim_of(card)), HasSubstr("proof       bench.gemm gpu3 is not"));
  auto other_boot = card;
  other_boot.attempts[1].boot_id = "b";
  EXPECT_EQ(repair::missing_proof(claim_of(other_boot)), "");
  auto later = card;
  later.attempts[1].ended = "2026-11-01T10:10:00Z";
  EXPECT_EQ(repair::missing_proof(claim_of(later)), "");
  card.causes[0].category = "Resource.Hpc.Unhealthy.HpcRowRemapFailure";
  card.causes[0].remedy = Remedy::reset_gpu;
  EXPECT_NE(repair::missing_proof(claim_of(card)), "");
  card.causes[0].remedy = Remedy::report_to_provider;
  EXPECT_EQ(repair::missing_proof(claim_of(card)), "");
}

TEST(NodeClaimTest, ANodeWithoutACauseWasLostRepeatedly) {
  NodeCard card{.node = "n1", .why = "it did not return within 30 min"};
  card.attempts = {{.end = AttemptEnd::lost, .ended = "2026-11-01T10:00:00Z"},
                   failure_at("2026-11-01T10:30:00Z", "bench.gemm gpu4")};
  EXPECT_THAT(repair::missing_proof(claim_of(card)),
              HasSubstr("it did not return within 30 min is not proven (seen 1 time"));
  card.attempts.push_back({.end = AttemptEnd::lost, .ended = "2026-11-01T10:30:00Z"});
  EXPECT_EQ(repair::missing_proof(claim_of(card)), "");
}

TEST(DeliveryTest, ListsWhatDiffersAndWhatWasNotObserved) {
  const auto& delivery = delivery_of_64();
  EXPECT_THAT(delivery.differing,
              ElementsAre(StackDifference{"driver", "570.172.08", "580.105.08", {"gpu-020"}}));
  ASSERT_EQ(delivery.not_observed.size(), 1U);
  EXPECT_THAT(delivery.not_observed[0].nodes, ElementsAre("gpu-020"));
  const auto unjudged =
      std::ranges::find_if(delivery.quantities, [](auto& each) { return !each.limit; });
  ASSERT_NE(unjudged, delivery.quantities.end());
  EXPECT_EQ(unjudged->name, "host.latency memory_latency");
}

TEST(DeliveryTest, SaysWhichStagesNoNodeTookPartIn) {
  const auto delivery = SampleDelivery(1).make();
  EXPECT_EQ(delivery.counts.accepted, 1);
  EXPECT_THAT(to_json_line(delivery.not_observed), HasSubstr("stage fabric"));
}

TEST(DeliveryTest, ListsEverythingThatWasOverridden) {
  SampleDelivery sample(4);
  sample.order.plan.settings = {"gpu.temperature.fail_above=95 C"};
  sample.results.decisions = {
      {.kind = DecisionKind::go_on, .check = "bench.gemm", .why = "known", .who = "kim", .at = 60}};
  const auto delivery = sample.make();
  const auto json = to_json_line(delivery.overridden);
  EXPECT_THAT(json, HasSubstr("--set gpu.temperature.fail_above=95 C"));
  EXPECT_THAT(
      json,
      HasSubstr(
          R"("what":"went on although many nodes fail bench.gemm","why":"known","who":"kim","at":"1970-01-01T00:01:00Z")"));
  EXPECT_THAT(json, HasSubstr("plan: slice_s is 1800, not 600"));
  EXPECT_THAT(to_json_line(for_provider(delivery).overridden), testing::Not(HasSubstr("kim")));
}

TEST(DeliveryTest, TermsCountFailuresInTheSoak) {
  SampleDelivery sample(64);
  sample.order.plan.terms = Terms{.accepted_at_least = 0.9};
  auto delivery = sample.make();
  ASSERT_EQ(delivery.terms.size(), 2U);
  EXPECT_TRUE(delivery.terms[0].met);
  EXPECT_FALSE(delivery.terms[1].met);  // 61 node-days are too few
  sample.order.plan.terms = Terms{.accepted_at_least = 0.9, .good_rate = 26, .bad_rate = 130};
  delivery =
      make_delivery(sample.order, sample.results, sample.actions, sample.facts, sample.group, {});
  EXPECT_TRUE(delivery.terms[1].met) << delivery.terms[1].reached;
  EXPECT_EQ(delivery.terms_verdict, TermsVerdict::met);
  EXPECT_EQ(exit_status(sample.order.plan, sample.actions), 1);  // not all nodes
}

TEST(ExitStatusTest, IsZeroOnlyIfEveryOrderedNodeIsAccepted) {
  constexpr std::array kExpected{
      std::pair(NodeVerdict::pending, 2),  std::pair(NodeVerdict::accepted, 0),
      std::pair(NodeVerdict::remarks, 0),  std::pair(NodeVerdict::rejected, 1),
      std::pair(NodeVerdict::held, 1),     std::pair(NodeVerdict::not_tested, 1),
      std::pair(NodeVerdict::withdrawn, 1)};
  static_assert(kExpected.size() == kNodeVerdictWords.size());
  for (const auto& [verdict, status] : kExpected) {
    Actions actions{.complete = verdict != NodeVerdict::pending};
    actions.standings = {{.verdict = NodeVerdict::accepted}, {.verdict = verdict}};
    EXPECT_EQ(exit_status(*shipped_plan("standard"), actions), status) << to_string(verdict);
  }
}

TEST(ExitStatusTest, IsOneIfATermIsNotMet) {
  Actions actions{.complete = true};
  actions.standings = {{.verdict = NodeVerdict::accepted, .loaded_s = 3600, .soak_events = 1}};
  auto plan = *shipped_plan("standard");
  EXPECT_EQ(exit_status(plan, actions), 0);
  plan.terms = Terms{};
  EXPECT_EQ(exit_status(plan, actions), 1);
}

TEST(ProviderCopyTest, KeepsVersionsAndPciAddresses) {
  Delivery delivery;
  auto& card = delivery.cards.emplace_back();
  card.kernel_lines = {"0000:1b:00.0 b83f:d203:00ab:cdef 96.00.74.00.01 28.43.2566 580.105.08",
                       "peer 10.1.2.3:4791 fe80::1 52:54:00:12:34:56:78:9a",
                       "job 7 of user kim in /home/kim/x"};
  const auto copy = for_provider(delivery);
  EXPECT_THAT(copy.cards[0].kernel_lines,
              ElementsAre(card.kernel_lines[0], "peer [address] [address] [address]",
                          "a job of a user in [left out]"));
  EXPECT_THAT(copy.left_out, ElementsAre("addresses", "processes, users and jobs"));
  EXPECT_THAT(for_provider(Delivery{}).left_out, IsEmpty());
}

}  // namespace
}  // namespace muster::accept
