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

// What the strategies have in common: the scale of the first values, from the healthy ones or from
// what is expected; nothing where neither tells.
[[nodiscard]] std::optional<Scale> first_scale(const std::vector<double>& values,
                                               double noise,
                                               const Rule& rule);

[[nodiscard]] Result<Suspicion> screen(const Nodes& nodes, Rounds& rounds, Search& search);
[[nodiscard]] Result<Suspicion> tournament(const Nodes& nodes, Rounds& rounds, Search& search);
// The devices that are slow on most nodes are culprits of `search`. Nobody is suspected where there
// are none. `slow`: nodes that are slow by pairs.
[[nodiscard]] Result<Suspicion> rails(const Nodes& nodes,
                                      Rounds& rounds,
                                      const std::vector<Suspect>& slow,
                                      Search& search);

}  // namespace muster::bench::locate
