// SPDX-License-Identifier: Apache-2.0
// The search for what is slow, as a function of a way to measure. Nobody is accused by one
// measurement, and nobody by what a partner did.
#pragma once

#include "bench/locate/culprit.hpp"
#include "bench/locate/rounds.hpp"

namespace muster::bench::locate {

enum class Strategy {
  automatic,   // tournament up to 16 nodes, else screen
  screen,      // disjoint pairs, then each suspect with a proven partner
  tournament,  // all pairs
  bisect,      // as screen
  rails,       // as automatic, and each device of disjoint pairs by itself
  fabric,      // the switches first, then as screen
};

struct Plan {
  Strategy strategy = Strategy::automatic;
  Rule rule{};
  Rounds::Watch watch{};  // is told of each round before it is measured; may be empty
};

[[nodiscard]] Result<Search> locate(const Nodes& nodes, Measurer& measurer, const Plan& plan);

// The steps of a search, a file each, and what they have in common: the scale of the first values,
// from the healthy ones or from what is expected; nothing where neither tells.
[[nodiscard]] std::optional<Scale> first_scale(const std::vector<double>& values, double noise,
                                               const Rule& rule);

[[nodiscard]] Result<Suspicion> screen(const Nodes& nodes, Rounds& rounds, Search& search);
[[nodiscard]] Result<Suspicion> tournament(const Nodes& nodes, Rounds& rounds, Search& search);
// The devices that are slow on most nodes become culprits of `search`; where there are no such
// devices, no node is suspected. `slow`: nodes that are slow by pairs.
[[nodiscard]] Result<Suspicion> rails(const Nodes& nodes, Rounds& rounds,
                                      const std::vector<Suspect>& slow, Search& search);

// Each device of a slow node is measured by itself with the same one of a proven partner, and then
// each node alone. Slow pairs, and slow nodes of which no part is slow, are measured once more: low
// again is a link or a node, else it was congestion.
[[nodiscard]] Result<std::vector<Culprit>> explain(const Suspicion& suspicion, const Nodes& nodes,
                                                   Rounds& rounds);

// Measures all nodes together that a next job has. As long as they reach less than their pairs do,
// halves of them are measured, and parts of halves with one another, until the fewest are left that
// show it: they are measured alone, and beside equally many others. What is found is left out, and
// the rest measured again. Sets `together`; adds culprits.
[[nodiscard]] Result<void> measure_together(const Nodes& nodes, Rounds& rounds, Search& search);

// Much less than healthy pairs reach, or not finished.
[[nodiscard]] bool falls_behind(const std::optional<double>& gbps, const Scale& of_pairs);

}  // namespace muster::bench::locate
