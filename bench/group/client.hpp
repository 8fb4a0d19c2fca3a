// SPDX-License-Identifier: Apache-2.0
// What the thread of every rank but rank 0 does that speaks with rank 0.
#pragma once

#include "bench/group/group.hpp"
#include "bench/group/phase_monitor.hpp"

namespace muster::bench {

// Keeps the connection to rank 0, answers it, and decides by itself when rank 0 is gone.
void follow_rank_0(const JoinOptions& options, PhaseMonitor& monitor);

}  // namespace muster::bench
