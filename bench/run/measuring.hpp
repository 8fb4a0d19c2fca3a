// SPDX-License-Identifier: Apache-2.0
// The middle of a rank's run: the ranks agree on what is run, and run it size by size.
#pragma once

#include <cstdint>
#include <vector>

#include "bench/backends/backend.hpp"
#include "bench/group/group.hpp"
#include "bench/run/rank_context.hpp"

namespace muster::bench {

// The sizes to run among so many ranks, of which rank 0 may know more than this one: nodes may be
// of several kinds, and rank 0's limits name the sizes. `backend` says how much memory is free
// here.
[[nodiscard]] Result<std::vector<std::uint64_t>> agree_on_sizes(RankContext& self,
                                                                const BenchCommand& command,
                                                                Group& group,
                                                                const Backend& backend, int ranks);

// Settles which sizes are run, and runs all of them. Every rank does the same. Returns the exit
// status of a run that cannot be, for all ranks, of which rank 0 has said why; else kExitHealthy,
// and what was measured is with rank 0's reporter. `command` is of one collective.
[[nodiscard]] Result<int> measure(RankContext& self, const BenchCommand& command, Group& group,
                                  Backend& backend);

}  // namespace muster::bench
