// SPDX-License-Identifier: Apache-2.0
// This node observed and judged for `muster hook`.
#pragma once

#include "slurm/commands/hook.hpp"

namespace muster::app {

// See CheckNode.
[[nodiscard]] Attempt<CheckedNode> check_node(const HookCommand& command,
                                              const std::string& drained_for, const Caller& caller,
                                              Deadline& deadline);

// See SweepNode. An error below --root.
[[nodiscard]] Result<Report> sweep_node(const HookCommand& command, const std::string& level,
                                        const Caller& caller, Clock::time_point until);

}  // namespace muster::app
