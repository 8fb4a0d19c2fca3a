// SPDX-License-Identifier: Apache-2.0
// The terms of a delivery: how long a soak must be, and how many failures it may have, so that both
// parties bear a known risk. Failures are taken as independent, at a constant rate.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "lib/accept/plan.hpp"
#include "lib/base/result.hpp"

namespace muster::accept {

// The shortest load under which both parties have at most the risk of the terms.
struct SoakNeed {
  double node_days = 0;
  std::int64_t failures = 0;  // allowed in it
  double provider_risk = 0;   // that a delivery of the good rate is refused
  double buyer_risk = 0;      // that one of the bad rate is accepted

  bool operator==(const SoakNeed&) const = default;
};

[[nodiscard]] SoakNeed soak_need(const Terms& terms);

// The most failures under this load with which a delivery meets the terms; empty if the load is too
// short even without a failure.
[[nodiscard]] std::optional<std::int64_t> allowed_failures(const Terms& terms, double node_days);

// An error names the key and the values that it may have.
[[nodiscard]] Result<void> check_terms(const Terms& terms);

// An error, with the hours that are needed, if the soak of so many nodes is too short for the terms
// of the plan.
[[nodiscard]] Result<void> check_soak(const Plan& plan, std::size_t nodes);

// The result of a soak, in numbers.
struct Confidence {
  MUSTER_DESCRIBED(Confidence);
  MUSTER_FIELD(std::int64_t, nodes, "that were under load") = 0;
  MUSTER_FIELD(double, node_days, "under load") = 0;
  MUSTER_FIELD(std::int64_t, failures, "that the provider is charged with") = 0;
  MUSTER_FIELD(std::optional<double>, most_per_1000_node_days, "with 95% confidence");
  MUSTER_FIELD(std::string, statement, "for people");
};

[[nodiscard]] Confidence confidence_of(const Plan& plan, std::int64_t nodes, double node_days,
                                       std::int64_t failures);

}  // namespace muster::accept
