// SPDX-License-Identifier: Apache-2.0
// The short notation in which Slurm states how many tasks each of its nodes has.
#pragma once

#include <string_view>
#include <vector>

#include "lib/base/result.hpp"

namespace muster::bench {

// Tasks of each node: "2(x3),1" gives 2, 2, 2, 1. At most 65536 nodes.
[[nodiscard]] Result<std::vector<int>> parse_tasks_per_node(std::string_view text);

}  // namespace muster::bench
