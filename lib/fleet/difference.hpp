// SPDX-License-Identifier: Apache-2.0
// How much two groups of values differ.
#pragma once

#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "lib/statistics/statistics.hpp"

namespace muster::fleet {

// Relative to the first group: -0.016 if the second one is 1.6% lower.
struct Difference {
  std::size_t count = 0;  // pairs, or values of the smaller group
  double share = 0;
  std::optional<Interval> interval;  // with 95% confidence; empty if there are too few values
};

// Compares the same devices before and after, and returns the median of their differences. Ignores
// pairs whose first value is not positive; empty if no pair is left.
[[nodiscard]] std::optional<Difference> difference_of_pairs(
    const std::vector<std::pair<double, double>>& pairs);

// Compares different devices, and returns the difference of the medians. Empty if a group is empty,
// or if the median of the first is not positive.
[[nodiscard]] std::optional<Difference> difference_of_groups(const std::vector<double>& first,
                                                             const std::vector<double>& second);

}  // namespace muster::fleet
