// SPDX-License-Identifier: Apache-2.0
// Which switches are slow: pairs below each leaf switch, and then one node of each with one of
// others, while nobody else works.
#pragma once

#include <span>
#include <vector>

#include "bench/locate/culprit.hpp"
#include "bench/locate/rounds.hpp"

namespace muster::bench::locate {

struct Switches {
  std::vector<Culprit> culprits;  // slow leaf switches, or a slow level
  // The zone of each node, where there are culprits: the paths between nodes of one zone avoid
  // them.
  std::vector<int> zones;
  std::vector<bool> cross;  // of each leaf switch: fine with others, while nobody else worked
  std::vector<bool> below;  // of each node: fine with one of its leaf switch
  double base = 0;          // what pairs below a leaf switch reach; 0: nothing was measured
};

// `pairs`: what was measured while all nodes worked. Where `suspicious` is not set and they reach
// no less than pairs below leaf switches do, it ends after a round.
[[nodiscard]] Result<Switches> judge_switches(const Nodes& nodes, Rounds& rounds,
                                              std::span<const PairRate> pairs, bool suspicious);

// Whether a switch is to blame more likely than the suspects: most nodes of a leaf switch are slow,
// or several pairs that have a node of it.
[[nodiscard]] bool points_to_a_switch(const Suspicion& suspicion, const Nodes& nodes);

// Where the leaf switches are not known: groups of nodes that are fine among themselves and slow
// with the others, as if each hung from a leaf switch of its own. Empty where there are none.
[[nodiscard]] Result<std::vector<std::vector<Node>>> groups_apart(const Suspicion& suspicion,
                                                                  const Nodes& nodes,
                                                                  Rounds& rounds, Search& search);

}  // namespace muster::bench::locate
