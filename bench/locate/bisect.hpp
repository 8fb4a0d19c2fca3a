// SPDX-License-Identifier: Apache-2.0
// What shows only where many nodes work in one all-reduce: which of them it takes.
#pragma once

#include "bench/locate/culprit.hpp"
#include "bench/locate/rounds.hpp"

namespace muster::bench::locate {

// Measures all nodes together that a next job has. As long as they reach less than their pairs do,
// halves of them are measured, and parts of halves with one another, until the fewest are left that
// show it: they are measured alone, and beside equally many others. What is found is left out, and
// the rest measured again. Sets `together`; adds culprits.
[[nodiscard]] Result<void> measure_together(const Nodes& nodes, Rounds& rounds, Search& search);

// Much less than healthy pairs reach, or not finished.
[[nodiscard]] bool falls_behind(const std::optional<double>& gbps, const Scale& of_pairs);

}  // namespace muster::bench::locate
