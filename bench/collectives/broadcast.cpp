// SPDX-License-Identifier: Apache-2.0
// Every rank receives the root's input.
#include "bench/collectives/definition.hpp"

namespace muster::bench {
namespace {

Result<void> over_tcp(HostAlgorithms& peers, const HostJob& job) {
  if (peers.ranks() == 1) return {};
  if (is_short(job.receive)) return peers.broadcast_down(job.receive, job.operation.root);
  return peers.broadcast_along(job.receive, job.operation.root);
}

}  // namespace

constinit const CollectiveDefinition collectives::broadcast{
    .name = "broadcast",
    .has_root = true,
    .one_buffer = true,  // the root has nothing to receive
    .shape =
        [](Shape& shape, const Participant& self) {
          if (!self.is_root()) shape.send = 0;
        },
    .received = {.what = Received::What::one_rank,
                 .from = [](const Participant& self) { return self.root; }},
    .bus_factor = factor_of_one,
    .nccl = {.call = [](NcclCalls& nccl) { return nccl.broadcast(); }, .log_name = "Broadcast"},
    .mpi = {.name = "MPI_Bcast", .divisible = true},
    .tcp = over_tcp,
    .sim = {.bandwidth = [](const SimRates& rates) { return rates.network; }},
};

}  // namespace muster::bench
