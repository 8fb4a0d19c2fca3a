// SPDX-License-Identifier: Apache-2.0
// What the parts of a job reach that ran in communicators of their own, side by side.
#pragma once

#include <string>
#include <vector>

#include "bench/results/bandwidth.hpp"
#include "bench/results/row.hpp"
#include "lib/report/finding.hpp"

namespace muster::bench {

// A part of the ranks that has a communicator of its own.
struct RankPart {
  std::string name;  // "gpu-0007", "rail3", "ranks 0-3"
  std::vector<int> ranks;
};

struct PartResult {
  std::string name;        // "gpu-0007", "rail3", "ranks 0-3"
  std::vector<int> ranks;  // of the job
  std::vector<Row> rows;   // one for each size
};

// bench.split: a finding for each part that is far below the others or below --min-busbw, at the
// size that is judged; one for all where there is none. To be below the others is a warning, and a
// failure from a tenth of their median on. Unknown where there are too few parts to compare.
[[nodiscard]] std::vector<Finding> judge_split(const std::vector<PartResult>& parts,
                                               const OwnLimit& own_limit);

// A line for each part: its bus bandwidth at the size that is judged, and its share of the median.
[[nodiscard]] std::string split_table(const std::vector<PartResult>& parts,
                                      const OwnLimit& own_limit);

}  // namespace muster::bench
