// SPDX-License-Identifier: Apache-2.0
// The middle of a run with --split: the parts of the job measure, all at once or one after the
// other, and rank 0 gathers what each of them reached.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "bench/backends/backend.hpp"
#include "bench/group/group.hpp"
#include "bench/run/rank_context.hpp"
#include "bench/run/split.hpp"

namespace muster::bench {

// A part whose ranks this process does: one, or all of them in a model.
struct OwnPart {
  std::size_t part = 0;
  std::unique_ptr<Backend> backend;
};

// Settles which sizes are run and runs them in every part. Returns what measure() does.
[[nodiscard]] Result<int> measure_parts(RankContext& self, Group& group,
                                        const std::vector<RankPart>& parts,
                                        const std::vector<OwnPart>& own);

}  // namespace muster::bench
