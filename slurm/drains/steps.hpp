// SPDX-License-Identifier: Apache-2.0
// What enforce() does to a node, each with all that it takes: the history, Slurm, and the words.
#pragma once

#include <string>

#include "slurm/drains/run.hpp"

namespace muster::slurm {

// Remembers it, looks once more, sends it, waits until it has a rank, verifies it, and takes it
// back where the site's share does not cover it.
void drain(Run& run);
// It stays drained.
void keep(Run& run);
// It is well, or was drained late and beyond the site's share.
void resume(Run& run);
// A drain that has been seen is undone, and counts as no flap.
void take_back(Run& run, std::string message);
// The node is in service, and our drain had been seen: somebody ended it.
void release(Run& run);

}  // namespace muster::slurm
