// SPDX-License-Identifier: Apache-2.0
// The two short notations in which Slurm states its nodes and how many tasks each has.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lib/base/result.hpp"

namespace muster::bench {

// The first of a list of hosts: "gpu-[0007-0010,12]-ib,login" gives "gpu-0007-ib".
[[nodiscard]] Result<std::string> first_host(std::string_view list);

// Tasks of each node: "2(x3),1" gives 2, 2, 2, 1. At most 65536 nodes.
[[nodiscard]] Result<std::vector<int>> parse_tasks_per_node(std::string_view text);

}  // namespace muster::bench
