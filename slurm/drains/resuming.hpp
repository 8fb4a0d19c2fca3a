// SPDX-License-Identifier: Apache-2.0
// A drain of ours that stands: it is kept, or it ends because the node is well, because it was one
// too many, or because somebody else ended it. Each function asks Slurm, writes the history, and
// says what happened.
#pragma once

#include <string>

#include "slurm/drains/run.hpp"

namespace muster::slurm {

// Leaves the node drained.
void keep(Run& run);
// Puts the node back into service: it is well, or was drained late and beyond the site's share.
void resume(Run& run);
// Puts the node back into service right after a drain that was one too many. It counts as no flap.
void take_back(Run& run, std::string message);
// Notes that somebody else put the node back into service, where our drain had been seen.
void release(Run& run);

}  // namespace muster::slurm
