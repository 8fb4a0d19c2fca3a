// SPDX-License-Identifier: Apache-2.0
// The statistics of many times of the same operation.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "lib/statistics/statistics.hpp"

namespace muster::bench {

struct Statistics {
  std::size_t count = 0;
  double median = 0;
  double p5 = 0;
  double p95 = 0;
  double min = 0;
  double mean = 0;
  std::optional<Interval> confidence;  // of the median, see median_interval_of

  bool operator==(const Statistics&) const = default;
};

// `shared`: the number of consecutive values that are one mean, as of pipelined iterations, and
// count as one independent value. There must be at least one value.
[[nodiscard]] Statistics statistics_of(const std::vector<double>& values, std::size_t shared = 1);

// Whether half the confidence interval is at most this share of the median.
[[nodiscard]] bool narrow_enough(const Statistics& statistics, double share);

}  // namespace muster::bench
