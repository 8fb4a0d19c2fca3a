// SPDX-License-Identifier: Apache-2.0
// --split: which ranks have a communicator of their own together, and how those of one tell each
// other what its back end needs to begin.
#pragma once

#include <string>
#include <vector>

#include "bench/backends/backend.hpp"
#include "bench/command/bench_command.hpp"
#include "bench/group/group.hpp"
#include "lib/base/result.hpp"

namespace muster::bench {

// Where a rank is: the place of its node among all, and its own among those of its node.
struct RankPlace {
  int node = 0;
  int local = 0;
};

struct RankPart {
  std::string name;  // "gpu-0007", "rail3", "ranks 0-3"
  std::vector<int> ranks;
};

// The parts that the ranks are divided into, each rank in one. `hosts`: the nodes' names. An error
// where that makes a single part, or parts of one rank.
[[nodiscard]] Result<std::vector<RankPart>> parts_of(const Split& split,
                                                     const std::vector<RankPlace>& places,
                                                     const std::vector<std::string>& hosts);

// The part that a rank is in.
[[nodiscard]] std::size_t part_with(const std::vector<RankPart>& parts, int rank);

// An exchange among the ranks of this rank's part alone. Every rank of the group calls the same of
// its functions in the same order. Both must live longer.
[[nodiscard]] Exchange exchange_within(Group& group, const std::vector<RankPart>& parts);

}  // namespace muster::bench
