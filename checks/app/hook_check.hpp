// SPDX-License-Identifier: Apache-2.0
// This node observed and judged for `muster hook`.
#pragma once

#include <vector>

#include "lib/node/snapshot.hpp"
#include "slurm/commands/hook.hpp"

namespace muster::app {

// See CheckNode.
[[nodiscard]] Attempt<CheckedNode> check_node(const HookCommand& command,
                                              const std::string& drained_for, const Caller& caller,
                                              Deadline& deadline);

// See SweepNode. An error below --root.
[[nodiscard]] Result<Report> sweep_node(const HookCommand& command, const std::string& level,
                                        const Caller& caller, Clock::time_point until);

// Returns the processes of users that are still on the GPUs of the ending job: those of its cgroup,
// and those of no job on GPUs that only this job had.
[[nodiscard]] std::vector<LeftOnGpus> left_on_gpus(const Snapshot& snapshot);

}  // namespace muster::app
