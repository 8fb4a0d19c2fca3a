// SPDX-License-Identifier: Apache-2.0
// The middle of a run: the ranks agree on the operations, and run them size by size.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bench/backends/backend.hpp"
#include "bench/results/row.hpp"
#include "bench/run/rank_context.hpp"
#include "lib/base/result.hpp"
#include "lib/profile/profile.hpp"

namespace muster::bench {

// Agrees on the sizes to run among `ranks` ranks. Rank 0 decides, since the nodes may differ, and
// its limits name the sizes.
[[nodiscard]] Result<std::vector<std::uint64_t>> agree_on_sizes(RankContext& self,
                                                                const BenchCommand& command,
                                                                const Backend& backend, int ranks);

// Agrees whether the run starts. `refusal`: why this rank cannot run; empty if it can. Rank 0
// prints the first refusal, or why the report could not be written. Returns the exit status of a
// run that cannot start, else kExitHealthy.
[[nodiscard]] Result<int> agree_to_start(RankContext& self, const std::string& refusal);

// Agrees on the sizes and measures all of them; rank 0's reporter collects the results. `command`
// is of one collective. Returns what agree_to_start() does.
[[nodiscard]] Result<int> measure(RankContext& self, const BenchCommand& command);

// Agrees on the sizes and runs them in every part, all at once or in turn; rank 0's reporter
// collects the results. Returns what agree_to_start() does.
[[nodiscard]] Result<int> measure_parts(RankContext& self);

}  // namespace muster::bench
