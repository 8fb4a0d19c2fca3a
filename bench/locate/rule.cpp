// SPDX-License-Identifier: Apache-2.0
#include "bench/locate/rule.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numbers>

#include "bench/results/statistics.hpp"

namespace muster::bench::locate {
namespace {

constexpr double kMostOdds = 1e4;

// A median of normal values varies by this much more than their mean.
const double kOfMedian = std::sqrt(std::numbers::pi / 2);

}  // namespace

double deviations_for(std::size_t values, double chance) {
  const double tail = chance / static_cast<double>(std::max<std::size_t>(values, 1));
  double low = 0;
  double high = 40;
  for (int i = 0; i < 60; ++i) {
    const double middle = (low + high) / 2;
    (std::erfc(middle / std::numbers::sqrt2) / 2 > tail ? low : high) = middle;
  }
  return high;
}

Rule rule_of_device(Rule rule, int devices) {
  if (rule.floor_gbps) *rule.floor_gbps /= devices;
  return rule;
}

std::optional<Scale> scale_around(const std::vector<double>& values, double deviation,
                                  const Rule& rule) {
  if (values.size() < rule.enough) return {};
  const double median = median_of(values);
  if (median <= 0) return {};
  const double away = std::max(rule.deviations, deviations_for(values.size(), rule.family_error));
  return Scale{.count = values.size(),
               .median = median,
               .deviation = deviation * median,
               .limit = median * (1 - std::max(away * deviation, rule.tolerance))};
}

std::optional<Scale> scale_of(const std::vector<double>& values, double noise, const Rule& rule) {
  const auto among = [&](const std::vector<double>& some) -> std::optional<Scale> {
    if (some.size() < rule.enough) return {};
    const auto spread = spread_of(some);
    if (spread.center <= 0) return {};
    return scale_around(some, std::max(spread.deviation / spread.center, noise), rule);
  };
  const auto all = among(values);
  if (!all) return {};
  std::vector<double> rest;
  std::ranges::copy_if(values, std::back_inserter(rest),
                       [&](double value) { return !all->low(value); });
  if (rest.size() == values.size()) return all;
  const auto better = among(rest);
  return better ? better : all;
}

Scale scale_about(double usual, double noise, double limit, std::size_t count) {
  constexpr double kLeastDeviation = 0.005;
  return {.count = count,
          .median = usual,
          .deviation = std::max(noise, kLeastDeviation) * usual,
          .limit = limit};
}

double noise_of(const std::vector<std::vector<double>>& repeats) {
  std::vector<double> steps;
  for (const auto& values : repeats) {
    for (std::size_t i = 1; i < values.size(); ++i) {
      const double sum = values[i] + values[i - 1];
      if (sum > 0) steps.push_back(2 * std::abs(values[i] - values[i - 1]) / sum);
    }
  }
  return steps.empty() ? 0 : deviation_of(steps, 0) / std::numbers::sqrt2;
}

int repeats_for(double noise, const Rule& rule) {
  const double needed = std::pow(kOfMedian * rule.deviations * noise / rule.tolerance, 2);
  const double most = rule.most_repeats;
  return std::max(rule.first_repeats, static_cast<int>(std::ceil(std::min(needed, most))));
}

double noise_of_median(double noise, std::size_t repeats) {
  return repeats < 3 ? noise : noise * kOfMedian / std::sqrt(static_cast<double>(repeats));
}

double odds_of(const std::optional<double>& value, const Scale& scale) {
  const double away = (scale.median - value.value_or(0)) / scale.deviation;
  if (away <= 0) return 1;
  return std::min(kMostOdds, std::exp(std::min(away * away / 2, 100.0)));
}

double probability_of(const std::vector<double>& odds) {
  constexpr double kPrior = 0.005;  // of nodes are bad on a usual day
  double all = kPrior / (1 - kPrior);
  for (const double each : odds) all *= each;
  return all / (1 + all);
}

std::string rate_text(double gbps) {
  constexpr double kSmall = 10;
  return gbps < kSmall ? fmt::format("{:.3g}", gbps) : fmt::format("{:.1f}", gbps);
}

}  // namespace muster::bench::locate
