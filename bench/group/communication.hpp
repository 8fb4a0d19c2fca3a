// SPDX-License-Identifier: Apache-2.0
// The communication thread of a process: one side for rank 0, one for all others.
#pragma once

#include "bench/group/group.hpp"
#include "bench/group/phase_monitor.hpp"
#include "lib/base/descriptor.hpp"

namespace muster::bench {

// Admits the other ranks, passes their texts, and detects those that are lost or late.
void serve_ranks(const JoinOptions& options, PhaseMonitor& monitor, Descriptor listener);

// Keeps the connection to rank 0, answers it, and detects when rank 0 is gone.
void follow_rank_0(const JoinOptions& options, PhaseMonitor& monitor);

}  // namespace muster::bench
