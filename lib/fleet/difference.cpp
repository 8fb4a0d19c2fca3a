// SPDX-License-Identifier: Apache-2.0
#include "lib/fleet/difference.hpp"

#include <algorithm>
#include <cmath>

namespace muster::fleet {
namespace {

constexpr double kNormalQuantile = 1.959963984540054;  // of 95% confidence

// Returns the standard error of a median, computed from its confidence interval.
std::optional<double> error_of(const std::vector<double>& values) {
  const auto interval = median_interval_of(values);
  if (!interval) return std::nullopt;
  return (interval->high - interval->low) / 2 / kNormalQuantile;
}

}  // namespace

std::optional<Difference> difference_of_pairs(const std::vector<std::pair<double, double>>& pairs) {
  std::vector<double> shares;
  for (const auto& [first, second] : pairs) {
    if (first > 0) shares.push_back(second / first - 1);
  }
  if (shares.empty()) return std::nullopt;
  return Difference{
      .count = shares.size(), .share = median_of(shares), .interval = median_interval_of(shares)};
}

std::optional<Difference> difference_of_groups(const std::vector<double>& first,
                                               const std::vector<double>& second) {
  if (first.empty() || second.empty()) return std::nullopt;
  const double before = median_of(first);
  if (before <= 0) return std::nullopt;
  Difference difference{.count = std::min(first.size(), second.size()),
                        .share = median_of(second) / before - 1};
  const auto error = error_of(first), other = error_of(second);
  if (error && other) {
    const double half = kNormalQuantile * std::sqrt(*error * *error + *other * *other) / before;
    difference.interval = Interval{difference.share - half, difference.share + half};
  }
  return difference;
}

}  // namespace muster::fleet
