// SPDX-License-Identifier: Apache-2.0
// The middle of a run: the ranks agree on the operations, and run them size by size.
#pragma once

#include "bench/run/rank_context.hpp"
#include "lib/base/result.hpp"

namespace muster::bench {

// Agrees on the sizes and measures all of them; rank 0's reporter collects the results. `command`
// is of one collective. Returns the exit status of a run that cannot start, else kExitHealthy.
[[nodiscard]] Result<int> measure(RankContext& self, const BenchCommand& command);

// Agrees on the sizes and runs them in every part, all at once or in turn; rank 0's reporter
// collects the results. Returns what measure() does.
[[nodiscard]] Result<int> measure_parts(RankContext& self);

}  // namespace muster::bench
