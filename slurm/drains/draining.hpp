// SPDX-License-Identifier: Apache-2.0
// A sick node is taken out of service.
#pragma once

#include "slurm/drains/run.hpp"

namespace muster::slurm {

// Writes the drain to the history, asks Slurm once more, drains the node, waits until the drain has
// a rank among all others, looks whether it is in force, and takes it back where the site's share
// does not cover it.
void drain(Run& run);

}  // namespace muster::slurm
