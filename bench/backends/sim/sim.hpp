// SPDX-License-Identifier: Apache-2.0
// The model of a cluster as a back end: one process is all ranks, and no time passes.
#pragma once

#include <memory>

#include "bench/backends/backend.hpp"
#include "bench/backends/sim/cluster.hpp"

namespace muster::bench {

// Nodes are called sim0, sim1 … Its log says in NCCL's words which way data went. Where a rank
// hangs, a call returns only after abort().
[[nodiscard]] std::unique_ptr<Backend> make_sim_backend(SimCluster cluster);

}  // namespace muster::bench
