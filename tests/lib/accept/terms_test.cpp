// SPDX-License-Identifier: Apache-2.0
#include "lib/accept/terms.hpp"

#include <array>
#include <random>

#include "tests/support/matchers.hpp"

namespace muster::accept {
namespace {

TEST(TermsTest, FindsTheShortestLoadForBothRisks) {
  struct Row {
    double times, risk;
    std::int64_t failures;
    double node_days;
  };

  for (const auto& [times, risk, failures, node_days] : std::array{
           Row{2, 0.1, 14, 1548}, Row{5, 0.1, 2, 164}, Row{10, 0.1, 1, 60}, Row{10, 0.05, 2, 97}}) {
    const auto need = soak_need({.good_rate = 6.5, .bad_rate = times * 6.5, .risk = risk});
    EXPECT_EQ(need.failures, failures);
    EXPECT_NEAR(need.node_days, node_days, 1);
    EXPECT_LE(need.provider_risk, risk);
    EXPECT_NEAR(need.buyer_risk, risk, 1e-9);
  }
}

TEST(TermsTest, AllowsMoreFailuresInALongerSoak) {
  const Terms terms;
  EXPECT_EQ(allowed_failures(terms, 20), std::nullopt);
  EXPECT_EQ(allowed_failures(terms, 72), 0);
  EXPECT_EQ(allowed_failures(terms, 164), 2);
  EXPECT_EQ(allowed_failures(terms, 384), 7);
  EXPECT_EQ(allowed_failures({.failures_allowed = 1}, 384), 1);
}

// Deliveries of the good and of the bad rate get the risks that the terms promise.
TEST(TermsTest, GivesSimulatedPartiesThePromisedRisks) {
  constexpr int kDeliveries = 50'000;
  std::mt19937_64 random(20261127);
  for (const auto& terms : {Terms{}, Terms{.bad_rate = 20}, Terms{.bad_rate = 65, .risk = 0.05}}) {
    const auto need = soak_need(terms);
    const auto allowed = *allowed_failures(terms, need.node_days + 1e-6);
    const auto share_accepted = [&](double rate) {
      std::poisson_distribution<std::int64_t> failures(rate * need.node_days / 1000);
      int accepted = 0;
      for (int i = 0; i < kDeliveries; ++i) {
        accepted += failures(random) <= allowed ? 1 : 0;
      }
      return static_cast<double>(accepted) / kDeliveries;
    };
    EXPECT_NEAR(1 - share_accepted(terms.good_rate), need.provider_risk, 0.01);
    EXPECT_LE(1 - share_accepted(terms.good_rate), terms.risk + 0.01);
    EXPECT_NEAR(share_accepted(terms.bad_rate), terms.risk, 0.01);
  }
}

TEST(TermsTest, RefusesASoakThatCannotShowThem) {
  Plan plan{.name = "strict", .soak_s = 24 * 3600};
  EXPECT_TRUE(check_soak(plan, 1));
  plan.terms = Terms{};
  EXPECT_EQ(
      check_soak(plan, 128).error().message,
      "soak: 24 h is too short for the terms: 128 nodes need 31 h (164 node-days, with at most "
      "2 failures)");
  EXPECT_TRUE(check_soak(plan, 164));
  plan.soak_s = 31 * 3600;
  EXPECT_TRUE(check_soak(plan, 128));
}

TEST(TermsTest, RefusesTermsWithoutMeaning) {
  EXPECT_TRUE(check_terms({}));
  EXPECT_THAT(check_terms({.risk = 0.5}).error().message, HasSubstr("risk: 0.5 is out of range"));
  EXPECT_THAT(check_terms({.bad_rate = 7}).error().message, HasSubstr("bad_rate: 7 is less than"));
  EXPECT_THAT(check_terms({.accepted_at_least = 100}).error().message,
              HasSubstr("accepted_at_least: 100 is out of range, expected 0 to 1"));
  EXPECT_FALSE(check_terms({.good_rate = 0}));
  auto plan = *shipped_plan("standard");
  plan.terms = Terms{.failures_allowed = -1};
  EXPECT_FALSE(check_plan(plan));
}

TEST(ConfidenceTest, StatesTheHighestRateThatTheLoadAllows) {
  Plan plan{.name = "standard"};
  EXPECT_EQ(confidence_of(plan, 128, 128, 1).statement,
            "128 nodes x 24.0 h = 128.0 node-days under load, 1 failure: at most 37.1 failures per "
            "1000 node-days with 95% confidence.");
  plan.terms = Terms{};
  EXPECT_THAT(confidence_of(plan, 128, 128, 1).statement,
              HasSubstr("consistent with the good rate of 6.5"));
  EXPECT_THAT(confidence_of(plan, 128, 128, 9).statement,
              HasSubstr("more than the good rate of 6.5"));
}

TEST(ConfidenceTest, StatesNothingThatTheLoadCannotShow) {
  for (const auto& shown :
       {confidence_of({.name = "standard"}, 4, 4, 0), confidence_of({.name = "quick"}, 1000, 20, 0),
        confidence_of({.name = "standard"}, 0, 0, 0)}) {
    EXPECT_EQ(shown.most_per_1000_node_days, std::nullopt);
    EXPECT_THAT(shown.statement, AllOf(HasSubstr("node-days"), Not(HasSubstr("at most"))));
  }
}

}  // namespace
}  // namespace muster::accept
