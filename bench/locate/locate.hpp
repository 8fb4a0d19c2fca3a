// SPDX-License-Identifier: Apache-2.0
// The search for what is slow. One measurement accuses no node, and neither does what a partner
// did.
#pragma once

#include "bench/locate/culprit.hpp"
#include "bench/locate/rounds.hpp"
#include "bench/locate/schedule.hpp"

namespace muster::bench::locate {

enum class Strategy {
  automatic,   // tournament up to 16 nodes, else screen
  screen,      // disjoint pairs, then each suspect with a proven partner
  tournament,  // all pairs
  bisect,      // another name of screen
  rails,       // as automatic, and each device of disjoint pairs by itself
  fabric,      // the switches first, then as screen
};

struct SearchOptions {
  Strategy strategy = Strategy::automatic;
  Floor floor{};
  Rounds::Watch watch{};
};

[[nodiscard]] Result<SearchResult> locate(const Nodes& nodes, Measurer& measurer,
                                          const SearchOptions& options);

// The steps of a search, each in a file of its own.

[[nodiscard]] Result<Suspicion> screen(const Nodes& nodes, Rounds& rounds, SearchResult& result);
[[nodiscard]] Result<Suspicion> tournament(const Nodes& nodes, Rounds& rounds,
                                           SearchResult& result);

// Sets the culprits of `result` to the devices that are slow on most nodes; without any, suspects
// no node. `slow` are the nodes that are slow by pairs.
[[nodiscard]] Result<Suspicion> rails(const Nodes& nodes, Rounds& rounds,
                                      const std::vector<Suspect>& slow, SearchResult& result);

// Measures each device of a slow node with that of a proven partner, then each slow node alone, and
// slow pairs once more. What is fine then was congestion.
[[nodiscard]] Result<std::vector<Culprit>> explain(const Suspicion& suspicion, const Nodes& nodes,
                                                   Rounds& rounds);

// Measures all nodes together that no culprit excludes. If they reach less than their pairs do,
// bisects them, excludes what it finds, and begins again. Sets `together` and adds culprits.
[[nodiscard]] Result<void> measure_together(const Nodes& nodes, Rounds& rounds,
                                            SearchResult& result);

// Whether a large group reaches much less than healthy pairs, or did not finish.
[[nodiscard]] bool falls_behind(const std::optional<double>& gbps, const Scale& of_pairs);

}  // namespace muster::bench::locate
