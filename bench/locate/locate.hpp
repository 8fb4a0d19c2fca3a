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
  bisect,      // all together, and parts of them until the fewest are left that are slow
  rails,       // each device of disjoint pairs by itself
  fabric,      // pairs below a leaf switch, across leaf switches, across the switches above
};

struct Plan {
  Strategy strategy = Strategy::automatic;
  Rule rule{};
  Rounds::Watch watch{};  // is told of each round before it is measured; may be empty
};

[[nodiscard]] Result<Search> locate(const Nodes& nodes, Measurer& measurer, const Plan& plan);

// In one round, the devices that are slow on most nodes: each compared with its sisters.
[[nodiscard]] Result<std::vector<Culprit>> slow_rails(const Nodes& nodes, Rounds& rounds);
// The level of switches from which on pairs are slow. In a round for each.
[[nodiscard]] Result<std::vector<Culprit>> slow_levels(const Nodes& nodes, Rounds& rounds);

// What the strategies have in common: the scale of the first values, from the healthy ones or from
// what is expected; nothing where neither tells.
[[nodiscard]] std::optional<Scale> first_scale(const std::vector<double>& values,
                                               double noise,
                                               const Rule& rule);

[[nodiscard]] Result<Suspicion> screen(const Nodes& nodes, Rounds& rounds, Search& search);
[[nodiscard]] Result<Suspicion> tournament(const Nodes& nodes, Rounds& rounds, Search& search);
[[nodiscard]] Result<Suspicion> rails(const Nodes& nodes, Rounds& rounds, Search& search);
[[nodiscard]] Result<Suspicion> fabric(const Nodes& nodes, Rounds& rounds, Search& search);

}  // namespace muster::bench::locate
