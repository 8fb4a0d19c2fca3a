// SPDX-License-Identifier: Apache-2.0
// Detects nodes that are so overloaded that a missed deadline proves nothing.
#pragma once

#include "checks/check.hpp"

namespace muster::checks {

// The sections that leave_undecided() uses; for Check::looks_at.
inline constexpr ProbeSet kShowsOverload = Probe::processes | Probe::cpu | Probe::memory;

// Turns a failure because of a missed deadline into `unknown` on an overloaded node.
void leave_undecided(const Snapshot& snapshot, Finding& finding);

}  // namespace muster::checks
