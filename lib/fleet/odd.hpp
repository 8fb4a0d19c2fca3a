// SPDX-License-Identifier: Apache-2.0
// The odd ones of a group: values worse than those of their peers, and facts that differ from the
// majority's.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "lib/statistics/statistics.hpp"

namespace muster::fleet {

// Values of one quantity of equal devices.
struct OddValues {
  Spread peers;
  double limit = 0;
  std::vector<std::size_t> places;  // of values beyond it, the worst first
  bool too_few = false;             // values, for any to be odd

  bool operator==(const OddValues&) const = default;
};

// By the one-sided rule: further from the center than 5 deviations and than `share` of it.
[[nodiscard]] OddValues find_odd_values(const std::vector<double>& values, Side worse,
                                        double share = 0.03);

// Facts about a node: "driver" to "570.86.15". Only nodes of one group are compared.
struct NodeFacts {
  std::string node, group;
  std::map<std::string, std::string> facts;
};

struct OddFact {
  std::string group, fact, usual, value;
  std::vector<std::string> nodes;

  bool operator==(const OddFact&) const = default;
};

// Facts of which most nodes of a group have one value: the other values, the rarest first. Groups
// of fewer nodes have none.
[[nodiscard]] std::vector<OddFact> find_odd_facts(const std::vector<NodeFacts>& nodes,
                                                  std::size_t fewest);

}  // namespace muster::fleet
