// SPDX-License-Identifier: Apache-2.0
// By how much two groups of values differ.
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
  std::optional<Interval> interval;  // of 95% confidence; empty for too few values

  bool operator==(const Difference&) const = default;
};

// Compares the same devices, before and after: the median of their own differences. Pairs whose
// first value is not positive do not count; empty without any.
[[nodiscard]] std::optional<Difference> difference_of_pairs(
    const std::vector<std::pair<double, double>>& pairs);

// Compares other devices: the difference of the medians. Empty if a group is, or if the median of
// the first is not positive.
[[nodiscard]] std::optional<Difference> difference_of_groups(const std::vector<double>& first,
                                                             const std::vector<double>& second);

}  // namespace muster::fleet
