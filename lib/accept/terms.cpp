// SPDX-License-Identifier: Apache-2.0
#include "lib/accept/terms.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>

#include "lib/base/text.hpp"
#include "lib/statistics/statistics.hpp"

namespace muster::accept {
namespace {

constexpr double kHours = 24;
constexpr double kPer = 1000;  // node-days of a rate

double expected_at(double rate, double node_days) { return rate * node_days / kPer; }

double node_days_for(const Terms& terms, std::int64_t failures) {
  return kPer * highest_mean(failures, 1 - terms.risk) / terms.bad_rate;
}

}  // namespace

SoakNeed soak_need(const Terms& terms) {
  const auto need_of = [&](std::int64_t failures) {
    const double node_days = node_days_for(terms, failures);
    return SoakNeed{
        .node_days = node_days,
        .failures = failures,
        .provider_risk = 1 - share_of_at_most(failures, expected_at(terms.good_rate, node_days)),
        .buyer_risk = share_of_at_most(failures, expected_at(terms.bad_rate, node_days))};
  };
  if (terms.failures_allowed) return need_of(*terms.failures_allowed);
  // Terminates, because allowing more failures separates the two rates better, and check_terms()
  // ensures that they are far enough apart.
  auto need = need_of(0);
  while (need.provider_risk > terms.risk) need = need_of(need.failures + 1);
  return need;
}

std::optional<std::int64_t> allowed_failures(const Terms& terms, double node_days) {
  const double expected = expected_at(terms.bad_rate, node_days);
  std::int64_t allowed = -1;
  const auto most = terms.failures_allowed;
  while ((!most || allowed < *most) && share_of_at_most(allowed + 1, expected) <= terms.risk) {
    ++allowed;
  }
  if (allowed < 0) return std::nullopt;
  return allowed;
}

Result<void> check_terms(const Terms& terms) {
  struct Bound {
    std::string_view key;
    double value, least, most;
  };

  constexpr double kMinRatio = 1.5;
  for (const auto& [key, value, least, most] : std::array{
           Bound{"accepted_at_least", terms.accepted_at_least, 0, 1},
           Bound{"failures_allowed", static_cast<double>(terms.failures_allowed.value_or(0)), 0,
                 1000},
           Bound{"good_rate", terms.good_rate, 0.001, 1e5},
           Bound{"bad_rate", terms.bad_rate, 0.001, 1e6},
           Bound{"risk", terms.risk, 0.001, 0.4},
       }) {
    if (value >= least && value <= most) continue;
    return make_error("terms: {}: {} is out of range, expected {} to {}", key, value, least, most);
  }
  if (terms.bad_rate < kMinRatio * terms.good_rate) {
    return make_error("terms: bad_rate: {} is less than {} times good_rate, {}", terms.bad_rate,
                      kMinRatio, terms.good_rate);
  }
  return {};
}

Result<void> check_soak(const Plan& plan, std::size_t nodes) {
  if (!plan.terms) return {};
  TRY(check_terms(*plan.terms));
  const auto need = soak_need(*plan.terms);
  const double hours = static_cast<double>(plan.soak_s) / 3600;
  const double needed = kHours * need.node_days / static_cast<double>(nodes);
  if (hours >= needed) return {};
  return make_error(
      "soak: {:.3g} h is too short for the terms: {} need {:.0f} h ({:.0f} node-days, with at most "
      "{} failures)",
      hours, counted(nodes, "node"), std::ceil(needed), need.node_days, need.failures);
}

Confidence confidence_of(const Plan& plan, std::int64_t nodes, double node_days,
                         std::int64_t failures) {
  constexpr double kConfidence = 0.95;
  constexpr double kFewestNodeDays = 5;
  Confidence shown{.nodes = nodes, .node_days = node_days, .failures = failures};
  shown.statement =
      fmt::format("{} x {:.1f} h = {:.1f} node-days under load, {}",
                  counted(static_cast<std::uint64_t>(nodes), "node"),
                  nodes > 0 ? kHours * node_days / static_cast<double>(nodes) : 0, node_days,
                  counted(static_cast<std::uint64_t>(failures), "failure"));
  if (plan.name == "quick") {
    shown.statement += ": a quick plan is too short to say how reliable the nodes are.";
    return shown;
  }
  if (node_days < kFewestNodeDays) {
    shown.statement += fmt::format(
        ": too little to say how reliable the nodes are; that takes {} "
        "node-days.",
        kFewestNodeDays);
    return shown;
  }
  const double most = kPer * highest_mean(failures, kConfidence) / node_days;
  shown.most_per_1000_node_days = most;
  shown.statement +=
      fmt::format(": at most {:.3g} failures per 1000 node-days with 95% confidence", most);
  if (plan.terms) {
    const double expected = expected_at(plan.terms->good_rate, node_days);
    const bool likely = 1 - share_of_at_most(failures - 1, expected) > 1 - kConfidence;
    shown.statement += fmt::format("; {} the good rate of {:.3g}",
                                   likely ? "consistent with" : "more than", plan.terms->good_rate);
  }
  shown.statement += ".";
  return shown;
}

}  // namespace muster::accept
