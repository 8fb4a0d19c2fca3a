// SPDX-License-Identifier: Apache-2.0
// The terms of a delivery: how long a soak must be and how many failures it may have, so that both
// parties bear a known risk. Assumes independent failures at a constant rate.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "lib/accept/plan.hpp"
#include "lib/base/result.hpp"

namespace muster::accept {

// The shortest load at which neither party bears more than the agreed risk.
struct SoakNeed {
  double node_days = 0;
  std::int64_t failures = 0;  // allowed during the soak
  double provider_risk = 0;   // probability that a delivery with the good rate is refused
  double buyer_risk = 0;      // probability that a delivery with the bad rate is accepted
};

[[nodiscard]] SoakNeed soak_need(const Terms& terms);

// The most failures that a delivery may have under this load and still meet the terms; empty if the
// load is too short even without a failure.
[[nodiscard]] std::optional<std::int64_t> allowed_failures(const Terms& terms, double node_days);

// An error names the key and the values that it may have.
[[nodiscard]] Result<void> check_terms(const Terms& terms);

// Returns an error, with the hours needed, if the soak of `nodes` nodes is too short for the terms
// of the plan.
[[nodiscard]] Result<void> check_soak(const Plan& plan, std::size_t nodes);

// The result of a soak, in numbers.
struct Confidence {
  MUSTER_DESCRIBED(Confidence);
  MUSTER_FIELD(std::int64_t, nodes, "nodes that were under load") = 0;
  MUSTER_FIELD(double, node_days, "under load") = 0;
  MUSTER_FIELD(std::int64_t, failures, "failures charged to the provider") = 0;
  MUSTER_FIELD(std::optional<double>, most_per_1000_node_days, "with 95% confidence");
  MUSTER_FIELD(std::string, statement, "one sentence that sums it up");
};

[[nodiscard]] Confidence confidence_of(const Plan& plan, std::int64_t nodes, double node_days,
                                       std::int64_t failures);

}  // namespace muster::accept
