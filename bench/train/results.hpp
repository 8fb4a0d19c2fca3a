// SPDX-License-Identifier: Apache-2.0
// What the steps of all ranks come to.
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
  std::vector<std::string> wrong;  // about its products
};

// A step is over when its slowest rank is: medians over steps, in seconds.
struct StepTimes {
  double products = 0, reductions = 0, both = 0;

  // What a step loses since its products and its all-reduces disturb each other, as a share of the
  // longer of the two; 0 where the shorter one adds no time.
  [[nodiscard]] double loss() const;
};

[[nodiscard]] StepTimes times_of(const std::vector<RankSteps>& ranks);

[[nodiscard]] std::vector<Measurement> measurements_of(const StepTimes& times,
                                                       const TrainCommand& command,
                                                       const RunFacts& run);

// The findings of the job, of each rank whose products are wrong, and of each that is far slower at
// its products than the others are, where there are enough of them.
[[nodiscard]] std::vector<Finding> findings_of(const std::vector<RankSteps>& ranks,
                                               const std::vector<Member>& members,
                                               const TrainCommand& command);

}  // namespace muster::bench::train
