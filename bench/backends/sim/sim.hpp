// SPDX-License-Identifier: Apache-2.0
// A simulated cluster as a back end, for tests and for planning: nothing is measured.
#pragma once

#include <memory>

#include "bench/backends/backend.hpp"
#include "bench/model/cluster_model.hpp"

namespace muster::bench {

// One process runs all ranks of the group, and no time passes. The back end logs in NCCL's words
// how data travel. Where a rank hangs, a call returns only after abort().
[[nodiscard]] std::unique_ptr<Backend> make_sim_backend(const SimCluster& cluster, SimGroup group);

// The wrong elements in the receive buffers of the group, by the faults of the cluster.
[[nodiscard]] std::vector<Wrong> wrong_elements(const ClusterModel& model, const SimGroup& group,
                                                const Operation& operation);

}  // namespace muster::bench
