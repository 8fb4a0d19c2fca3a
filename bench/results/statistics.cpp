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

// The place of each value among all, counted from the middle one.
std::vector<double> ranks_of(const std::vector<double>& values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, {}, [&](std::size_t at) { return values[at]; });
  std::vector<double> ranks(values.size());
  const double middle = static_cast<double>(values.size() - 1) / 2;
  // Equal values share the mean of their places.
  for (std::size_t begin = 0; begin < order.size();) {
    std::size_t end = begin;
    while (end < order.size() && values[order[end]] == values[order[begin]]) ++end;
    const double mean = static_cast<double>(begin + end - 1) / 2 - middle;
    for (; begin < end; ++begin) ranks[order[begin]] = mean;
  }
  return ranks;
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

std::optional<Interval> confidence_of(std::vector<double> values) {
  const auto independent = static_cast<std::size_t>(independent_values(values));
  const auto k = outside(independent) * values.size() / std::max<std::size_t>(1, independent);
  if (k == 0) return {};
  std::ranges::sort(values);
  return Interval{values[k - 1], values[values.size() - k]};
}

}  // namespace

double independent_values(const std::vector<double>& values) {
  const auto count = static_cast<double>(values.size());
  const auto ranks = ranks_of(values);
  const double square = std::inner_product(ranks.begin(), ranks.end(), ranks.begin(), 0.0);
  if (square == 0) return count;  // one value, or all are equal
  const double found =
      std::inner_product(ranks.begin() + 1, ranks.end(), ranks.begin(), 0.0) / square;
  // In a short series it comes out too small by about this.
  const double missing = (1 + 3 * std::max(0.0, found)) / count;
  constexpr double kMost = 0.99;
  const double resemblance = std::clamp(found + missing, 0.0, kMost);
  return count * (1 - resemblance) / (1 + resemblance);
}

double median_of(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  if (values.size() % 2 == 1) return *middle;
  return (*std::max_element(values.begin(), middle) + *middle) / 2;
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

double deviation_of(const std::vector<double>& values, double median) {
  constexpr double kOfNormal = 1.4826;
  std::vector<double> away(values.size());
  std::ranges::transform(values, away.begin(),
                         [&](double value) { return std::abs(value - median); });
  return kOfNormal * median_of(std::move(away));
}

Spread spread_of(const std::vector<double>& values) {
  constexpr double kLeast = 0.005;
  const double median = median_of(values);
  return {.count = values.size(),
          .median = median,
          .deviation = std::max(deviation_of(values, median), kLeast * std::abs(median))};
}

bool is_far_below(double value, const std::vector<double>& sisters, double share) {
  constexpr std::size_t kEnough = 4;
  constexpr double kDeviations = 5;
  if (sisters.empty()) return false;
  const auto [count, median, deviation] = spread_of(sisters);
  return count >= kEnough && value < median - kDeviations * deviation &&
         value < median * (1 - share);
}

bool narrow_enough(const Statistics& statistics, double share) {
  const auto& interval = statistics.confidence;
  return interval && (interval->high - interval->low) / 2 <= share * statistics.median;
}

}  // namespace muster::bench
