// SPDX-License-Identifier: Apache-2.0
// The state of an acceptance as text, for --status, the end of a run, and a progress line on a
// terminal; and the stages of a plan, for --dry-run.
#pragma once

#include <string>

#include "accept/run_folder.hpp"

namespace muster::accept {

// "soak: 60 of 64 running, 2 rejected, 1 lost; about 22 h left".
[[nodiscard]] std::string progress_line(const Order& order, const Actions& actions);

// The counts of each verdict, the nodes that are not accepted with the reasons, breakers, and the
// stages of all other nodes.
[[nodiscard]] std::string standing_text(const Order& order, const Actions& actions);

// The stages with their durations, and the node-hours.
[[nodiscard]] std::string plan_text(const Plan& plan, std::size_t nodes);

}  // namespace muster::accept
