// SPDX-License-Identifier: Apache-2.0
// --split: the parts of the ranks that have communicators of their own, and their measurement.
#pragma once

#include <string>
#include <vector>

#include "bench/backends/backend.hpp"
#include "bench/command/bench_command.hpp"
#include "bench/group/group.hpp"
#include "bench/run/rank_context.hpp"
#include "lib/base/result.hpp"

namespace muster::bench {

// The index of a rank's node among all, and the rank's index among those of its node.
struct RankPlace {
  int node = 0;
  int local = 0;
};

// Divides the ranks into parts, each rank in one. `hosts`: the nodes' names. An error if that makes
// a single part, or parts of one rank.
[[nodiscard]] Result<std::vector<RankPart>> parts_of(const Split& split,
                                                     const std::vector<RankPlace>& places,
                                                     const std::vector<std::string>& hosts);

// As parts_of, for the ranks of this run. All ranks come to the same parts.
[[nodiscard]] Result<std::vector<RankPart>> split_ranks(const RankContext& self);

// Returns the index of the part that a rank is in.
[[nodiscard]] std::size_t part_with(const std::vector<RankPart>& parts, int rank);

// An exchange among the ranks of this rank's part. All ranks of the group must call its functions
// in the same order. Both arguments must outlive it.
[[nodiscard]] Exchange exchange_within(Group& group, const std::vector<RankPart>& parts);

// Agrees on the sizes and runs them in every part, all at once or in turn; rank 0's reporter
// collects the results. Returns what agree_to_start() does.
[[nodiscard]] Result<int> measure_parts(RankContext& self);

}  // namespace muster::bench
