// SPDX-License-Identifier: Apache-2.0
// What the thread of rank 0 does that speaks with the other ranks.
#pragma once

#include "bench/group/group.hpp"
#include "bench/group/phase_monitor.hpp"
#include "lib/base/descriptor.hpp"

namespace muster::bench {

// Lets the other ranks in, passes texts, and decides what has gone wrong. With a single rank the
// listener is closed at once.
void serve_ranks(const JoinOptions& options, PhaseMonitor& monitor, Descriptor listener);

}  // namespace muster::bench
