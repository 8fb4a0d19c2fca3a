// SPDX-License-Identifier: Apache-2.0
#include "bench/results/statistics.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace muster::bench {

Statistics statistics_of(const std::vector<double>& values, std::size_t shared) {
  auto sorted = values;
  std::ranges::sort(sorted);
  std::vector<double> independent;
  for (std::size_t i = 0; i < values.size(); i += std::max<std::size_t>(1, shared)) {
    independent.push_back(values[i]);
  }
  return {.count = values.size(),
          .median = quantile_of(sorted, 0.5),
          .p5 = quantile_of(sorted, 0.05),
          .p95 = quantile_of(sorted, 0.95),
          .min = sorted.front(),
          .mean = std::accumulate(values.begin(), values.end(), 0.0) /
                  static_cast<double>(values.size()),
          .confidence = median_interval_of(std::move(independent))};
}

bool narrow_enough(const Statistics& statistics, double share) {
  const auto& interval = statistics.confidence;
  return interval && (interval->high - interval->low) / 2 <= share * statistics.median;
}

}  // namespace muster::bench
