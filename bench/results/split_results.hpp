// SPDX-License-Identifier: Apache-2.0
// Compares the parts of a job that ran in communicators of their own.
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
  std::string name;
  std::vector<int> ranks;
  std::vector<Row> rows;  // one for each size
};

// bench.split: a finding for each part that is far below the others or below --min-busbw at the
// judged size, or else one for all. A part below the others warns, and fails from a tenth of their
// median on. Unknown if there are too few parts to compare.
[[nodiscard]] std::vector<Finding> judge_split(const std::vector<PartResult>& parts,
                                               const OwnLimit& own_limit);

// A line for each part: its bus bandwidth at the judged size, and its share of the median.
[[nodiscard]] std::string split_table(const std::vector<PartResult>& parts,
                                      const OwnLimit& own_limit);

}  // namespace muster::bench
