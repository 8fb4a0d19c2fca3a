// SPDX-License-Identifier: Apache-2.0
// The nodes and the plan of an acceptance, as given on the command line.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lib/accept/plan.hpp"
#include "lib/base/result.hpp"
#include "lib/profile/load.hpp"

namespace muster::accept {

// Reads host lists and files. "@FILE" has one node per line, "name [host=..] [serial=..]
// [group=..]", and # begins a comment. An error names the first word or line that is wrong, also if
// a node or a serial number is given twice.
[[nodiscard]] Result<std::vector<OrderedNode>> read_nodes(const std::vector<std::string>& words);

// Returns a shipped plan, or the standard one changed by a YAML file with keys of Plan. An error in
// a file has its line. `sources` has the profile of the plan.
[[nodiscard]] Result<Plan> read_plan(const std::string& word, const ProfileSources& sources);

// Returns the first difference between an order on record and another one, as a clause; empty if
// there is none.
[[nodiscard]] std::string difference(const std::vector<OrderedNode>& recorded,
                                     const std::vector<OrderedNode>& asked);
[[nodiscard]] std::string difference(const Plan& recorded, const Plan& asked);

}  // namespace muster::accept
