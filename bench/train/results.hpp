// SPDX-License-Identifier: Apache-2.0
// The results of the steps of all ranks.
#pragma once

#include <string>
#include <vector>

#include "bench/backends/backend.hpp"
#include "bench/results/row.hpp"
#include "bench/train/train_command.hpp"
#include "lib/report/finding.hpp"
#include "lib/report/measurement.hpp"

namespace muster::bench::train {

inline constexpr std::string_view kTrainCheck = "bench.train_step";

// The seconds of each step of one rank.
struct RankSteps {
  std::vector<double> products, reductions, both;
  std::vector<std::string> wrong;  // sentences about wrong products
};

// Medians over steps of the slowest rank, in seconds.
struct StepTimes {
  double products = 0, reductions = 0, both = 0;

  // The cost of overlapping products and all-reduces, as a share of the longer of the two.
  [[nodiscard]] double loss() const;
};

[[nodiscard]] StepTimes times_of(const std::vector<RankSteps>& ranks);

[[nodiscard]] std::vector<Measurement> measurements_of(const StepTimes& times,
                                                       const TrainCommand& command,
                                                       const RunFacts& run);

// Returns the job's finding, and those of ranks with wrong products, or among four and more, with
// products 10% slower than the others'.
[[nodiscard]] std::vector<Finding> findings_of(const std::vector<RankSteps>& ranks,
                                               const std::vector<Member>& members,
                                               const TrainCommand& command);

}  // namespace muster::bench::train
