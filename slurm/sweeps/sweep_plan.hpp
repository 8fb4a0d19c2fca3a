// SPDX-License-Identifier: Apache-2.0
// Which jobs a pass of `muster sweep` submits, as a pure function of the nodes as Slurm reports
// them, the past verdicts and the site's rules.
#pragma once

#include <chrono>
#include <vector>

#include "slurm/sweeps/sweep_standing.hpp"

namespace muster::slurm {

// A node is left alone for this long after an undecided job, and for twice as long after each
// further one in a row, up to half of `every`.
inline constexpr std::chrono::seconds kSweepPause{3600};

[[nodiscard]] std::vector<SweepJob> plan_sweep(const SweepSituation& situation);

}  // namespace muster::slurm
