// SPDX-License-Identifier: Apache-2.0
// Drains of ours that the history does not know, and those of which Slurm does not say what is
// known: the difference is said and mended.
#pragma once

#include "slurm/drains/run.hpp"

namespace muster::slurm {

// Takes over a drain with muster's reason that the history does not know: from the node's memory in
// Slurm, or from the reason alone. Whether it did.
[[nodiscard]] bool adopt(Run& run);

// Clears a memory that tells of a drain which somebody else ended.
void settle_memory(Run& run);

// Puts the fault that was found later, and is graver, into the node's reason.
void update_reason(Run& run);

// Writes the node's memory in Slurm, where it says something else than is known.
void update_memory(Run& run);

}  // namespace muster::slurm
