// SPDX-License-Identifier: Apache-2.0
// What the numbers of a node's tests mean: each device against the profile's limit, and against its
// sisters on the same node.
#pragma once

#include <string_view>
#include <vector>

#include "bench/node/test.hpp"

namespace muster::bench::node {

// A finding for each device that missed a limit or is far behind its sisters, or one for all. A
// device is behind where it differs from the median by more than five deviations, by more than the
// tolerance and by more than five times what repeats differ by, among at least four. That alone is
// a warning; below the limit it fails. Without a limit and without sisters nothing can be judged,
// and that is a skip. `from`: whose limits those are.
[[nodiscard]] std::vector<Finding> judge(std::string_view check, const Series& series,
                                         const Bounds& bounds, std::string_view from);

}  // namespace muster::bench::node
