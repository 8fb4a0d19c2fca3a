// SPDX-License-Identifier: Apache-2.0
// Every rank receives the parts of all ranks, in order.
#include "bench/collectives/definition.hpp"

namespace muster::bench {
namespace {

Result<void> over_tcp(HostAlgorithms& peers, const HostJob& job) {
  copy_bytes(job.send, peers.own_segment(job.receive, job.width));
  return peers.gather_around(job.receive, job.width, 0);
}

}  // namespace

constinit const CollectiveDefinition collectives::all_gather{
    .name = "all_gather",
    .in_parts = true,
    .shape =
        [](Shape& shape, const Participant& self) {
          shape.send = shape.count;
          shape.send_at = static_cast<std::uint64_t>(self.rank) * shape.count;
        },
    .received = {.what = Received::What::every_rank},
    .bus_factor = factor_of_parts,
    .nccl = {.call = [](NcclCalls& nccl) { return nccl.all_gather(); }, .log_name = "AllGather"},
    .mpi = {.name = "MPI_Allgather"},
    .tcp = over_tcp,
    .sim = {.bandwidth = [](const SimRates& rates) { return rates.ring_or_tree(); }},
};

}  // namespace muster::bench
