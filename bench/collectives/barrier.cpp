// SPDX-License-Identifier: Apache-2.0
// No rank continues before all have arrived. It has a time but no bandwidth.
#include "bench/collectives/definition.hpp"

namespace muster::bench {

constinit const CollectiveDefinition collectives::barrier{
    .name = "barrier",
    .no_data = true,
    .bus_factor = factor_of_one,
    .mpi = {.name = "MPI_Barrier"},
    .tcp = [](HostAlgorithms& peers, const HostJob& /*job*/) { return peers.barrier(); },
    .sim = {.bandwidth = [](const SimRates& rates) { return rates.network; }},
};

}  // namespace muster::bench
