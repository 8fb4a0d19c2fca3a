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

[[nodiscard]] Pace pace_of(const BenchCommand& command);

// The rank with the least memory for buffers.
struct LeastMemory {
  int rank = 0;
  std::uint64_t bytes = 0;
};

// `reported`: the free memory of each rank in order, a number of bytes or an empty text. Returns
// nothing if no rank reports any.
[[nodiscard]] Result<std::optional<LeastMemory>> least_memory(
    const std::vector<std::string>& reported);

struct Sizes {
  std::vector<std::uint64_t> bytes;
  std::string remark;  // why there are fewer than expected; else empty
};

// The sizes to run. They begin where each rank has an element; sizes that the command does not name
// end where memory does.
[[nodiscard]] Sizes sizes_of(const BenchCommand& command, const Profile& profile,
                             const RunFacts& facts, const std::optional<LeastMemory>& memory = {});

// Returns a command for each type with each reduction, the judged one first. Combinations that
// cannot be verified are left out if there are several.
[[nodiscard]] std::vector<BenchCommand> variants_of(const BenchCommand& command);

// Returns the placements of the largest size, out of place first. An error if the smallest size has
// no element for each rank, or if the command names a placement that the back end lacks.
[[nodiscard]] Result<std::vector<Operation>> operations_of(const BenchCommand& command,
                                                           const std::vector<std::uint64_t>& sizes,
                                                           const Backend& backend);

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

}  // namespace muster::bench
