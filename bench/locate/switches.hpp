// SPDX-License-Identifier: Apache-2.0
// Which switches are slow: measures pairs below each leaf switch, then one node of each leaf switch
// with one of others, while no other node works.
#pragma once

#include <span>
#include <vector>

#include "bench/locate/culprit.hpp"
#include "bench/locate/rounds.hpp"

namespace muster::bench::locate {

struct SwitchVerdict {
  std::vector<Culprit> culprits;  // slow leaf switches, a slow level, or congestion
  // The zone of each node if there is a slow switch: paths between nodes of one zone avoid it.
  std::vector<int> zones;
  std::vector<bool> cross;  // of each leaf switch: fine with others while no other node works
  std::vector<bool> below;  // of each node: fine with a node of its leaf switch
  double base = 0;          // the rate of pairs below a leaf switch; 0 if nothing was measured
};

// `pairs` were measured while all nodes worked. Unless `suspicious`, the first round ends it if
// they reach what pairs below leaf switches do.
[[nodiscard]] Result<SwitchVerdict> judge_switches(const Nodes& nodes, Rounds& rounds,
                                                   std::span<const PairRate> pairs,
                                                   bool suspicious);

// Whether a switch is a likelier culprit than the suspects: most nodes of a leaf switch are slow,
// or several pairs with a node of it.
[[nodiscard]] bool points_to_a_switch(const Suspicion& suspicion, const Nodes& nodes);

// Without a topology: groups of nodes that are fine among themselves and slow with the others, as
// if each had a leaf switch of its own. Empty if there are none.
[[nodiscard]] Result<std::vector<std::vector<Node>>> groups_apart(const Suspicion& suspicion,
                                                                  const Nodes& nodes,
                                                                  Rounds& rounds,
                                                                  SearchResult& result);

}  // namespace muster::bench::locate
