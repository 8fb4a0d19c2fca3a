// SPDX-License-Identifier: Apache-2.0
// What an admin says by `muster resume --check`: the drains of a check that was stopped are right.
#pragma once

#include <string_view>
#include <vector>

#include "slurm/cluster/controller.hpp"
#include "slurm/drains/admin.hpp"
#include "slurm/history/history.hpp"

namespace muster::slurm {

// Notes with each node that stands drained for `check` that an admin accepted it, so that it counts
// for no breaker any more; with all such nodes where the request names none. They stay drained.
// Returns one answer for each such node. An error: Slurm does not answer, and nothing was done.
[[nodiscard]] Result<std::vector<AdminAnswer>> accept_drains(const AdminRequest& request,
                                                             std::string_view check,
                                                             Controller& controller,
                                                             History* history);

}  // namespace muster::slurm
