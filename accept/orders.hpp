// SPDX-License-Identifier: Apache-2.0
// The nodes and the plan of an acceptance, as the command line gives them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lib/accept/plan.hpp"
#include "lib/base/result.hpp"

namespace muster::accept {

// Reads host lists and files: "@FILE" has one node a line, "name [host=..] [serial=..] [group=..]",
// where a # begins a comment. An error names the first word or line that is wrong.
[[nodiscard]] Result<std::vector<OrderedNode>> read_nodes(const std::vector<std::string>& words);

// Parses the lines of such a file.
[[nodiscard]] Result<std::vector<OrderedNode>> parse_nodes(std::string_view text,
                                                           std::string_view file);

// Refuses none, too many, a name twice, and a serial at two nodes.
[[nodiscard]] Result<void> check_nodes(const std::vector<OrderedNode>& nodes);

// A shipped plan, or a file of YAML with the keys of Plan, which changes the standard one.
[[nodiscard]] Result<Plan> read_plan(const std::string& word);

// The first difference between an order on record and another one, as a clause; empty for none.
[[nodiscard]] std::string difference(const std::vector<OrderedNode>& recorded,
                                     const std::vector<OrderedNode>& asked);
[[nodiscard]] std::string difference(const Plan& recorded, const Plan& asked);

}  // namespace muster::accept
