// SPDX-License-Identifier: Apache-2.0
// Judges the numbers of a node's tests: each device against the profile's limit, and against its
// sisters on the same node.
#pragma once

#include <string_view>
#include <vector>

#include "bench/node/test.hpp"

namespace muster::bench::node {

// Returns a finding for each device that misses a limit or is an outlier among its sisters, or one
// for all. An outlier is worse than the median of at least four sisters by more than five
// deviations, the tolerance, and five times the scatter of repeats. It warns; a value below the
// limit fails. Without a limit and without sisters, the finding is a skip. `from`: the source of
// the limits.
[[nodiscard]] std::vector<Finding> judge(std::string_view check, const Series& series,
                                         const Bounds& bounds, std::string_view from);

}  // namespace muster::bench::node
