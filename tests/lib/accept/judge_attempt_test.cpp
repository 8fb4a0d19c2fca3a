// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "lib/accept/step.hpp"
#include "tests/support/matchers.hpp"

namespace muster::accept {
namespace {

using testing::Field;

StepAnswer answer_with(Verdict verdict, std::vector<Finding> findings) {
  return {.host = "n1",
          .boot_id = "b1",
          .muster = "0.1.0",
          .seconds = 12,
          .reports = {Report{.verdict = verdict, .findings = std::move(findings)}}};
}

Attempt judged(Stage stage, const StepAnswer& answer, const OrderedNode& ordered = {.name = "n1"}) {
  Attempt attempt{.node = "n1", .stage = stage, .number = 1};
  judge_attempt(attempt, answer, ordered);
  return attempt;
}

Finding finding(std::string check, Outcome outcome, Remedy remedy, Value observed = {}) {
  return {.check = std::move(check),
          .device = "gpu3",
          .outcome = outcome,
          .message = "a message",
          .observed = std::move(observed),
          .remedy = remedy};
}

TEST(JudgeAttemptTest, AHealthyReportPasses) {
  const auto attempt = judged(Stage::check, answer_with(Verdict::healthy, {}));
  EXPECT_EQ(attempt.end, AttemptEnd::pass);
  EXPECT_EQ(attempt.boot_id, "b1");
  EXPECT_EQ(attempt.seconds, 12);
}

TEST(JudgeAttemptTest, AWarningIsARemark) {
  const auto attempt =
      judged(Stage::check,
             answer_with(Verdict::healthy, {finding("gpu.ecc", Outcome::warn, Remedy::watch)}));
  EXPECT_EQ(attempt.end, AttemptEnd::warn);
  EXPECT_THAT(attempt.remarks, ElementsAre(Field(&Cause::node, "n1")));
  EXPECT_THAT(attempt.causes, IsEmpty());
}

TEST(JudgeAttemptTest, AClockThatDiffersByMoreThanFiveSecondsIsOneRemark) {
  constexpr std::int64_t kEnded = 1'800'000'000;
  const auto with_skew = [](std::int64_t skew) {
    auto answer = answer_with(Verdict::healthy, {});
    answer.at = kEnded + skew;
    Attempt attempt{.node = "n1", .stage = Stage::check, .number = 1, .ended = kEnded};
    judge_attempt(attempt, answer, {.name = "n1"});
    return attempt;
  };
  for (const int skew : {-5, 0, 5}) EXPECT_EQ(with_skew(skew).end, AttemptEnd::pass) << skew;
  const auto behind = with_skew(-90);
  EXPECT_EQ(behind.end, AttemptEnd::warn);
  EXPECT_THAT(behind.remarks,
              ElementsAre(Field(&Cause::message, "the node's clock is 90 s behind")));
  EXPECT_THAT(with_skew(6).remarks,
              ElementsAre(Field(&Cause::message, "the node's clock is 6 s ahead")));
}

TEST(JudgeAttemptTest, TheRemedyTellsWhoIsCharged) {
  const auto charge = [](Remedy remedy) {
    const auto attempt = judged(
        Stage::check, answer_with(Verdict::unhealthy, {finding("gpu.ecc", Outcome::fail, remedy)}));
    EXPECT_EQ(attempt.end, AttemptEnd::fail);
    return attempt.causes.at(0).charge;
  };
  EXPECT_EQ(charge(Remedy::report_to_provider), Charge::provider);
  EXPECT_EQ(charge(Remedy::reseat_or_replace), Charge::provider);
  EXPECT_EQ(charge(Remedy::fix_config), Charge::ours);
  EXPECT_EQ(charge(Remedy::restart_service), Charge::ours);
  EXPECT_EQ(charge(Remedy::reset_gpu), Charge::open);
  EXPECT_EQ(charge(Remedy::none), Charge::open);
}

TEST(JudgeAttemptTest, EvidenceFollowsFromCheckAndStage) {
  const auto evidence = [](Stage stage, const char* check, Value observed) {
    return judged(stage, answer_with(Verdict::unhealthy,
                                     {finding(check, Outcome::fail, Remedy::report_to_provider,
                                              std::move(observed))}))
        .causes.at(0)
        .evidence;
  };
  EXPECT_EQ(evidence(Stage::node, "bench.gemm", 612.0), Evidence::slow);
  EXPECT_EQ(evidence(Stage::node, "bench.gpu_truth", {}), Evidence::hard);
  EXPECT_EQ(evidence(Stage::node, "bench.data", std::int64_t{3}), Evidence::hard);
  EXPECT_EQ(evidence(Stage::check, "gpu.count", std::int64_t{7}), Evidence::hard);
  EXPECT_EQ(evidence(Stage::soak, "gpu.xid", {}), Evidence::event);
}

TEST(JudgeAttemptTest, BusyGpusRefuseTheAttempt) {
  const auto attempt = judged(
      Stage::node,
      answer_with(Verdict::unknown, {finding("bench.in_use", Outcome::unknown, Remedy::none)}));
  EXPECT_EQ(attempt.end, AttemptEnd::refused);
  EXPECT_EQ(attempt.causes.at(0).charge, Charge::ours);
  EXPECT_EQ(attempt.causes.at(0).evidence, Evidence::refused);
}

TEST(JudgeAttemptTest, AnUndecidedReportIsUncertain) {
  const auto attempt =
      judged(Stage::check,
             answer_with(Verdict::unknown, {finding("gpu.ecc", Outcome::unknown, Remedy::none)}));
  EXPECT_EQ(attempt.end, AttemptEnd::refused);
  EXPECT_EQ(attempt.causes.at(0).evidence, Evidence::uncertain);
  EXPECT_THAT(attempt.why, HasSubstr("gpu.ecc gpu3"));
}

TEST(JudgeAttemptTest, NoReportIsUncertain) {
  auto answer = answer_with(Verdict::healthy, {});
  answer.reports.clear();
  EXPECT_EQ(judged(Stage::check, answer).end, AttemptEnd::refused);
}

TEST(JudgeAttemptTest, AnUnhealthyReportFailsEvenIfAnotherIsUndecided) {
  auto answer = answer_with(Verdict::unknown, {finding("gpu.ecc", Outcome::unknown, Remedy::none)});
  answer.reports.push_back(
      {.verdict = Verdict::unhealthy,
       .findings = {finding("gpu.count", Outcome::fail, Remedy::report_to_provider)}});
  EXPECT_EQ(judged(Stage::check, answer).end, AttemptEnd::fail);
}

TEST(JudgeAttemptTest, AnInventoryIsComparedWithTheOrder) {
  StepAnswer answer{.host = "n1",
                    .muster = "0.1.0",
                    .physical_host = "GGBB01",
                    .parts = {{.kind = "gpu", .device = "gpu0", .serial = "123"}}};
  EXPECT_EQ(judged(Stage::inventory, answer, {.name = "n1", .host = "GGBB01", .serial = "123"}).end,
            AttemptEnd::pass);
  const auto other = judged(Stage::inventory, answer, {.name = "n1", .host = "GGBB02"});
  EXPECT_EQ(other.end, AttemptEnd::fail);
  EXPECT_THAT(other.causes.at(0).message, HasSubstr("GGBB01"));
  EXPECT_EQ(judged(Stage::inventory, answer, {.name = "n1", .serial = "9"}).end, AttemptEnd::fail);
}

TEST(JudgeAttemptTest, ANodeWithoutObservedGpusHasARemark) {
  const auto attempt = judged(Stage::inventory, {.host = "n1", .muster = "0.1.0"});
  EXPECT_EQ(attempt.end, AttemptEnd::warn);
  EXPECT_THAT(attempt.remarks, ElementsAre(Field(&Cause::check, kGpusCheck)));
}

StepAnswer answer_of_products(const std::vector<double>& tflops, std::string unit = "TFLOPS") {
  auto answer = answer_with(Verdict::healthy, {});
  for (std::size_t i = 0; i < tflops.size(); ++i) {
    answer.reports[0].measurements.push_back(
        {.quantity = "gemm_bf16",
         .value = tflops[i],
         .unit = unit,
         .conditions = {.test = "gpu.gemm", .device = fmt::format("gpu{}", i)}});
  }
  return answer;
}

TEST(JudgeAttemptTest, AGpuThatBecameSlowerIsOneRemark) {
  const auto before = answer_of_products({735, 740, 730, 738});
  const auto after = answer_of_products({733, 700, 650, 738});
  auto attempt = judged(Stage::after, after);
  compare_speed(attempt, before, after);
  EXPECT_EQ(attempt.end, AttemptEnd::warn);
  ASSERT_EQ(attempt.remarks.size(), 1U);
  EXPECT_EQ(attempt.remarks[0].check, kSlowerCheck);
  EXPECT_EQ(attempt.remarks[0].device, "gpu2");
  EXPECT_THAT(attempt.remarks[0].message, HasSubstr("650 TFLOPS after the soak, 730 before it"));
  EXPECT_EQ(attempt.remarks[0].limit, Value(0.95 * 730));
}

TEST(JudgeAttemptTest, SpeedsThatCannotBeComparedHaveNoRemark) {
  const auto after = answer_of_products({700, 600});
  for (const auto& before : {answer_of_products({720}), answer_of_products({0, 0}),
                             answer_of_products({1000, 1000}, "us"), answer_of_products({})}) {
    auto attempt = judged(Stage::after, after);
    compare_speed(attempt, before, after);
    EXPECT_EQ(attempt.end, AttemptEnd::pass);
    EXPECT_THAT(attempt.remarks, IsEmpty());
  }
}

TEST(JudgeAttemptTest, AGroupsReportNamesNodesPairsAndTheGroup) {
  GroupAttempt attempt{.stage = Stage::fabric, .number = 1, .nodes = {"a-1", "a-2", "a-3"}};
  auto answer = answer_with(Verdict::unhealthy, {});
  for (const auto* device : {"h-2", "h-1-h-3", "leaf1"}) {
    auto each = finding("bench.locate", Outcome::fail, Remedy::report_to_provider, 100.0);
    each.device = device;
    answer.reports[0].findings.push_back(each);
  }
  judge_attempt(attempt, answer, {"h-1", "h-2", "h-3"});
  ASSERT_EQ(attempt.causes.size(), 3U);
  EXPECT_EQ(attempt.causes[0].node, "a-2");
  EXPECT_EQ(attempt.causes[0].evidence, Evidence::slow);
  EXPECT_EQ(attempt.causes[1].node, "a-1");
  EXPECT_EQ(attempt.causes[1].other, "a-3");
  EXPECT_EQ(attempt.causes[1].evidence, Evidence::pair);
  EXPECT_EQ(attempt.causes[2].node, "");
}

TEST(JudgeAttemptTest, TheGpuOfARankIsOnItsNode) {
  GroupAttempt attempt{.stage = Stage::whole, .number = 1, .nodes = {"a-1", "a-2"}};
  auto wrong = finding("bench.data", Outcome::fail, Remedy::report_to_provider, 5.0);
  wrong.device = "h-2/gpu3";
  judge_attempt(attempt, answer_with(Verdict::unhealthy, {wrong}), {"h-1", "h-2"});
  ASSERT_EQ(attempt.causes.size(), 1U);
  EXPECT_EQ(attempt.causes[0].node, "a-2");
  EXPECT_EQ(attempt.causes[0].other, "");
  EXPECT_EQ(attempt.causes[0].device, "gpu3");
  EXPECT_EQ(attempt.causes[0].evidence, Evidence::hard);
}

TEST(JudgeAttemptTest, OfTwoNodesEitherMayBeSlow) {
  GroupAttempt attempt{.stage = Stage::fabric, .number = 1, .nodes = {"a", "b"}};
  auto slow = finding("bench.locate", Outcome::fail, Remedy::report_to_provider, 100.0);
  slow.device = "job";
  judge_attempt(attempt, answer_with(Verdict::unhealthy, {slow}), {"a", "b"});
  EXPECT_EQ(attempt.causes.at(0).node, "a");
  EXPECT_EQ(attempt.causes.at(0).other, "b");
}

}  // namespace
}  // namespace muster::accept
