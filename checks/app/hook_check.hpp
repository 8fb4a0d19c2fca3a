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

// See SweepNode. Below another root there is nothing to measure.
[[nodiscard]] Result<Report> sweep_node(const HookCommand& command, const std::string& level,
                                        const Caller& caller, Clock::time_point until);

// What users other than root have on the GPUs of the job that ends: processes that its cgroup
// names, and those of no job on GPUs that were the job's alone.
[[nodiscard]] std::vector<LeftOnGpus> left_on_gpus(const Snapshot& snapshot);

}  // namespace muster::app
