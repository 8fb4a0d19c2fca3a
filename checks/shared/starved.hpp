// SPDX-License-Identifier: Apache-2.0
// Whether a node has so much to do, by its jobs, that a deadline missed says nothing about it.
#pragma once

#include "checks/check.hpp"

namespace muster::checks {

// The sections that tell; a check that asks looks at them.
inline constexpr ProbeSet kTellsStarvation = Probe::processes | Probe::cpu | Probe::memory;

// A finding about a deadline that was missed: on a node that is starved it is `unknown`.
void leave_undecided(const Snapshot& snapshot, Finding& finding);

}  // namespace muster::checks
