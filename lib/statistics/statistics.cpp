// SPDX-License-Identifier: Apache-2.0
#include "lib/statistics/statistics.hpp"

#include <algorithm>
#include <boost/math/special_functions/gamma.hpp>
#include <cmath>
#include <numeric>
#include <utility>

namespace muster {
namespace {

using boost::math::gamma_p_inv;
using boost::math::gamma_q;

constexpr double kOfNormal = 1.4826;

// The ranks of the values, the middle one being 0. Equal values share the mean of their ranks.
std::vector<double> ranks_of(const std::vector<double>& values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, {}, [&](std::size_t at) { return values[at]; });
  std::vector<double> ranks(values.size());
  const double middle = static_cast<double>(values.size() - 1) / 2;
  for (std::size_t begin = 0; begin < order.size();) {
    std::size_t end = begin;
    while (end < order.size() && values[order[end]] == values[order[begin]]) ++end;
    const double mean = static_cast<double>(begin + end - 1) / 2 - middle;
    for (; begin < end; ++begin) ranks[order[begin]] = mean;
  }
  return ranks;
}

// The number of values at each end that the interval leaves out. The probability that the true
// median is below the k-th smallest value is that of fewer than k heads in n coin tosses.
std::size_t outside_interval(std::size_t n) {
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

// Interpolates between the two nearest values; `share` is from 0 to 1.
double quantile_of(const std::vector<double>& sorted, double share) {
  const double place = share * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const auto above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (place - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

Spread make_spread(std::size_t count, double center, double deviation) {
  return {.count = count,
          .center = center,
          .deviation = std::max(deviation, kMinDeviation * std::abs(center))};
}

double mean_of_shortest_half(const std::vector<double>& sorted) {
  const std::size_t half = sorted.size() / 2 + 1;
  std::size_t begin = 0;
  for (std::size_t i = 1; half + i <= sorted.size(); ++i) {
    if (sorted[i + half - 1] - sorted[i] < sorted[begin + half - 1] - sorted[begin]) begin = i;
  }
  const auto first = sorted.begin() + static_cast<std::ptrdiff_t>(begin);
  return std::accumulate(first, first + static_cast<std::ptrdiff_t>(half), 0.0) /
         static_cast<double>(half);
}

}  // namespace

double median_of(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  if (values.size() % 2 == 1) return *middle;
  return (*std::max_element(values.begin(), middle) + *middle) / 2;
}

double deviation_of(const std::vector<double>& values, double center) {
  std::vector<double> distance(values.size());
  std::ranges::transform(values, distance.begin(),
                         [&](double value) { return std::abs(value - center); });
  return kOfNormal * median_of(std::move(distance));
}

std::optional<Interval> median_interval_of(std::vector<double> values) {
  const auto independent = static_cast<std::size_t>(independent_values(values));
  const auto k =
      outside_interval(independent) * values.size() / std::max<std::size_t>(1, independent);
  if (k == 0) return {};
  std::ranges::sort(values);
  return Interval{values[k - 1], values[values.size() - k]};
}

double independent_values(const std::vector<double>& values) {
  const auto count = static_cast<double>(values.size());
  const auto ranks = ranks_of(values);
  const double square = std::inner_product(ranks.begin(), ranks.end(), ranks.begin(), 0.0);
  if (square == 0) return count;  // one value, or all are equal
  const double found =
      std::inner_product(ranks.begin() + 1, ranks.end(), ranks.begin(), 0.0) / square;
  // Short series underestimate the correlation by about this much.
  const double bias = (1 + 3 * std::max(0.0, found)) / count;
  constexpr double kMax = 0.99;
  const double correlation = std::clamp(found + bias, 0.0, kMax);
  return count * (1 - correlation) / (1 + correlation);
}

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

Spread spread_of(const std::vector<double>& values) {
  const double center = median_of(values);
  return make_spread(values.size(), center, deviation_of(values, center));
}

Spread one_sided_spread_of(std::vector<double> values, Side faults) {
  std::ranges::sort(values);
  const double center = mean_of_shortest_half(values);
  // Equal values are in the center, but for rounding, and their scatter is 0.
  const double rounding = 1e-9 * std::abs(center);
  std::vector<double> healthy;
  for (const double value : values) {
    const double better = faults == Side::below ? value - center : center - value;
    if (better > -rounding) healthy.push_back(value);
  }
  return make_spread(values.size(), center, healthy.empty() ? 0 : deviation_of(healthy, center));
}

double outlier_limit(const Spread& peers, const OutlierRule& rule) {
  const double distance =
      std::max(rule.deviations * peers.deviation, rule.share * std::abs(peers.center));
  return rule.side == Side::below ? peers.center - distance : peers.center + distance;
}

bool is_outlier(double value, const Spread& peers, const OutlierRule& rule) {
  if (peers.count < rule.fewest || peers.center <= 0) return false;
  const double limit = outlier_limit(peers, rule);
  return rule.side == Side::below ? value < limit : value > limit;
}

bool is_outlier(double value, const std::vector<double>& peers, const OutlierRule& rule) {
  return !peers.empty() && is_outlier(value, spread_of(peers), rule);
}

double highest_mean(std::int64_t events, double confidence) {
  return gamma_p_inv(static_cast<double>(events + 1), confidence);
}

double lowest_mean(std::int64_t events, double confidence) {
  return events == 0 ? 0 : gamma_p_inv(static_cast<double>(events), 1 - confidence);
}

double share_of_at_most(std::int64_t events, double expected) {
  return events < 0 ? 0 : gamma_q(static_cast<double>(events + 1), expected);
}

double share_of_rates_above(double factor, std::int64_t events, double expected, double shape) {
  return gamma_q(shape + static_cast<double>(events), factor * (shape + expected));
}

}  // namespace muster
