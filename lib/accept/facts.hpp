// SPDX-License-Identifier: Apache-2.0
// Facts about nodes from the answers on record. The reports themselves are not kept, because the
// reports of thousands of nodes would not fit into memory.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/accept/step.hpp"

namespace muster::accept {

[[nodiscard]] constexpr bool less_is_better(std::string_view unit) {
  return unit == "C" || unit == "ns" || unit == "us" || unit == "ms" || unit == "s";
}

// "gpu.memory gpu_triad".
[[nodiscard]] std::string quantity_of(const Measurement& measurement);

// The worst value that any device of a node has in one quantity.
struct QuantityFact {
  std::string name;
  std::string unit, device;
  double value = 0;
  std::optional<double> limit;
  bool of_node_stage = false;  // preferred to shorter tests
  std::int64_t at = 0;
};

// The provider's category of a finding, which causes do not have.
struct CategoryFact {
  std::string check, device, category;
};

struct NodeFacts {
  std::string host, physical_host, profile, muster;
  std::vector<Part> parts;
  ByName<std::string> stack;
  std::vector<std::string> kernel_lines;
  std::vector<QuantityFact> quantities;
  std::vector<CategoryFact> categories;
  std::vector<NotObserved> not_observed;
  // When the newest answer ended, and the newest answer that lists parts.
  std::int64_t at = 0, parts_at = 0;
};

// Adds the facts in an answer. Answers may come in any order. Limits are known only from findings,
// so the report of a passing test must include its passes.
void learn(NodeFacts& facts, const Attempt& attempt, const StepAnswer& answer);

struct GroupFacts {
  std::optional<Matrix> pairs;  // from the largest search
  std::optional<double> whole_limit_gbps;
  std::vector<CategoryFact> categories;
};

void learn(GroupFacts& facts, const GroupAttempt& attempt, const StepAnswer& answer);

}  // namespace muster::accept
