// SPDX-License-Identifier: Apache-2.0
#include "bench/results/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace muster::bench {
namespace {

// Between the two values nearest to the place.
double quantile(const std::vector<double>& sorted, double share) {
  const double place = share * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const auto above = std::min(below + 1, sorted.size() - 1);
  const double part = place - static_cast<double>(below);
  return sorted[below] + part * (sorted[above] - sorted[below]);
}

// How many values at each end may lie outside the interval: the true median is below the k-th
// smallest value with the probability that fewer than k of n tosses of a coin are heads.
std::size_t outside(std::size_t n) {
  constexpr double kEachEnd = 0.025;
  constexpr std::size_t kExact = 1000;
  const auto count = static_cast<double>(n);
  if (n > kExact) {
    constexpr double kNormalQuantile = 1.959963984540054;
    return static_cast<std::size_t>((count - kNormalQuantile * std::sqrt(count)) / 2);
  }
  double exactly = std::pow(0.5, count);
  double at_most = exactly;
  std::size_t k = 0;
  while (at_most <= kEachEnd) {
    exactly *= (count - static_cast<double>(k)) / static_cast<double>(k + 1);
    at_most += exactly;
    ++k;
  }
  return k;
}

std::optional<Interval> confidence_of(std::vector<double> independent) {
  const auto k = outside(independent.size());
  if (k == 0) return {};
  std::ranges::sort(independent);
  return Interval{independent[k - 1], independent[independent.size() - k]};
}

}  // namespace

double median_of(std::vector<double> values) {
  std::ranges::sort(values);
  return quantile(values, 0.5);
}

Statistics statistics_of(const std::vector<double>& values, std::size_t shared) {
  std::vector<double> sorted = values;
  std::ranges::sort(sorted);
  std::vector<double> independent;
  for (std::size_t i = 0; i < values.size(); i += std::max<std::size_t>(1, shared)) {
    independent.push_back(values[i]);
  }
  return {.count = values.size(),
          .median = quantile(sorted, 0.5),
          .p5 = quantile(sorted, 0.05),
          .p95 = quantile(sorted, 0.95),
          .min = sorted.front(),
          .mean = std::accumulate(values.begin(), values.end(), 0.0) /
                  static_cast<double>(values.size()),
          .confidence = confidence_of(std::move(independent))};
}

bool narrow_enough(const Statistics& statistics, double share) {
  const auto& interval = statistics.confidence;
  return interval && (interval->high - interval->low) / 2 <= share * statistics.median;
}

}  // namespace muster::bench
