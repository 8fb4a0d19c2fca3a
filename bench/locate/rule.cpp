// SPDX-License-Identifier: Apache-2.0
#include "bench/locate/rule.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "lib/statistics/statistics.hpp"

namespace muster::bench::locate {
namespace {

// A median of normal values varies by this factor more than their mean.
const double kOfMedian = std::sqrt(std::numbers::pi / 2);

std::optional<Scale> scale_of_spread(const Spread& spread, double tolerance) {
  constexpr double kFamilyError = 0.01;  // chance that any of a round's healthy values is low
  if (spread.count < kEnough || spread.center <= 0) return {};
  const double deviations = std::max(kDeviations, deviations_for(spread.count, kFamilyError));
  return Scale{.count = spread.count,
               .median = spread.center,
               .deviation = spread.deviation,
               .limit = outlier_limit(spread, {.share = tolerance, .deviations = deviations})};
}

std::optional<Scale> scale_with_noise(const std::vector<double>& values, double noise,
                                      double tolerance) {
  if (values.size() < kEnough) return {};
  auto spread = spread_of(values);
  spread.deviation = std::max(spread.deviation, noise * spread.center);
  return scale_of_spread(spread, tolerance);
}

// Returns the rates that reach the floor, if they are a minority and far above the others. The
// median of all rates would then lie in neither group.
std::vector<double> clearly_good(const std::vector<double>& values, const Floor& floor) {
  constexpr double kApart = 0.9;
  std::vector<double> good;
  double best_of_bad = 0;
  for (const double value : values) {
    if (floor && value >= *floor) {
      good.push_back(value);
    } else {
      best_of_bad = std::max(best_of_bad, value);
    }
  }
  if (good.empty() || good.size() * 2 > values.size()) return {};
  return best_of_bad < kApart * std::ranges::min(good) ? good : std::vector<double>{};
}

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

std::optional<Scale> scale_around(const std::vector<double>& values, double deviation,
                                  double tolerance) {
  if (values.size() < kEnough) return {};
  const double median = median_of(values);
  return scale_of_spread(
      {.count = values.size(), .center = median, .deviation = deviation * median}, tolerance);
}

std::optional<Scale> scale_of(const std::vector<double>& values, double noise, double tolerance) {
  const auto all = scale_with_noise(values, noise, tolerance);
  if (!all) return {};
  auto rest = values;
  std::erase_if(rest, [&](double value) { return all->low(value); });
  if (rest.size() == values.size()) return all;
  const auto better = scale_with_noise(rest, noise, tolerance);
  return better ? better : all;
}

Scale scale_about(double usual, double noise, double limit, std::size_t count) {
  return {.count = count,
          .median = usual,
          .deviation = std::max(noise, kMinDeviation) * usual,
          .limit = limit};
}

Scale scale_of_few(double best, double noise, std::size_t count, const Floor& floor) {
  constexpr double kFar = 0.1;
  const double deviation = std::max(noise, kMinDeviation);
  double limit = best * (1 - std::max(kFar, kDeviations * deviation));
  if (floor && best >= *floor) limit = std::max(limit, std::min(*floor, best * (1 - kTolerance)));
  return scale_about(best, noise, limit, count);
}

std::optional<Scale> first_scale(const std::vector<double>& values, double noise,
                                 const Floor& floor, double tolerance) {
  if (const auto good = clearly_good(values, floor); !good.empty()) {
    const auto scale = scale_of(good, noise, tolerance);
    return scale ? scale : scale_about(median_of(good), noise, *floor, good.size());
  }
  if (const auto scale = scale_of(values, noise, tolerance)) return scale;
  if (!floor || values.empty()) return {};
  const double best = std::ranges::max(values);
  return scale_of_few(best > 0 ? best : *floor, noise, values.size(), floor);
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

int repeats_for(double noise, double tolerance) {
  constexpr double kMaxRepeats = 16;
  const double needed = std::pow(kOfMedian * kDeviations * noise / tolerance, 2);
  return std::max(kFirstRepeats, static_cast<int>(std::ceil(std::min(needed, kMaxRepeats))));
}

double noise_of_median(double noise, std::size_t repeats) {
  return repeats < 3 ? noise : noise * kOfMedian / std::sqrt(static_cast<double>(repeats));
}

double odds_of(const std::optional<double>& value, const Scale& scale) {
  constexpr double kMaxOdds = 1e4;
  const double difference = (scale.median - value.value_or(0)) / scale.deviation;
  if (difference <= 0) return 1;
  return std::min(kMaxOdds, std::exp(std::min(difference * difference / 2, 100.0)));
}

double probability_of(const std::vector<double>& odds) {
  constexpr double kPrior = 0.005;  // share of nodes that are bad on a typical day
  double all = kPrior / (1 - kPrior);
  for (const double each : odds) all *= each;
  return all / (1 + all);
}

std::string rate_text(double gbps) {
  constexpr double kSmall = 10;
  return gbps < kSmall ? fmt::format("{:.3g}", gbps) : fmt::format("{:.1f}", gbps);
}

}  // namespace muster::bench::locate
