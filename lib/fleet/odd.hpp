// SPDX-License-Identifier: Apache-2.0
// Finds the odd ones of a group: values that are worse than their peers', and facts that differ
// from the majority's.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "lib/statistics/statistics.hpp"

namespace muster::fleet {

// The outliers among the values of one quantity on identical devices.
struct OddValues {
  Spread peers;
  double limit = 0;
  std::vector<std::size_t> places;  // indices of values beyond the limit, the worst first
  bool too_few = false;             // there are too few values to call any odd
};

// Applies the one-sided rule: a value is odd if it is further from the center than 5 deviations and
// than `share` of the center.
[[nodiscard]] OddValues find_odd_values(const std::vector<double>& values, Side worse,
                                        double share = 0.03);

// Facts about a node, such as "driver": "570.86.15". Only nodes of one group are compared.
struct NodeFacts {
  std::string node, group;
  std::map<std::string, std::string> facts;
};

struct OddFact {
  std::string group, fact, usual, value;
  std::vector<std::string> nodes;

  bool operator==(const OddFact&) const = default;
};

// For each fact on which most nodes of a group agree, returns the other values, the rarest first.
// Ignores groups with fewer nodes than `fewest`.
[[nodiscard]] std::vector<OddFact> find_odd_facts(const std::vector<NodeFacts>& nodes,
                                                  std::size_t fewest);

}  // namespace muster::fleet
