// SPDX-License-Identifier: Apache-2.0
// From slow nodes and slow pairs to causes: a few more rounds in which hardly anybody else works.
#pragma once

#include "bench/locate/culprit.hpp"
#include "bench/locate/rounds.hpp"

namespace muster::bench::locate {

// Each device of a slow node is measured by itself with the same one of a proven partner, and then
// each node alone. Slow pairs, and slow nodes of which no part is slow, are measured once more: low
// again is a link or a node, else it was congestion.
[[nodiscard]] Result<std::vector<Culprit>> explain(const Suspicion& suspicion,
                                                   const Nodes& nodes,
                                                   Rounds& rounds);

// Pairs of proven nodes that a later round compares with, taken out of `proven`.
[[nodiscard]] std::vector<Pair> take_controls(std::vector<Node>& proven,
                                              std::size_t most,
                                              const Nodes& nodes);

// The groups from index `from` on, with the deviation of `usual`; where they are too few, `usual`.
[[nodiscard]] Scale scale_from(const Round& round,
                               std::size_t from,
                               const Scale& usual,
                               const Rule& rule);

}  // namespace muster::bench::locate
