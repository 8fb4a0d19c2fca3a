// SPDX-License-Identifier: Apache-2.0
// Every rank receives the reduction of all inputs.
#include "bench/collectives/definition.hpp"

namespace muster::bench {
namespace {

// In the first round each segment collects the sums of all ranks, in the second the finished
// segments go around. Short vectors are reduced at rank 0 and broadcast.
Result<void> over_tcp(HostAlgorithms& peers, const HostJob& job) {
  copy_bytes(job.send, job.receive);
  if (!is_short(job.receive)) return peers.reduce_around(job);
  TRY(peers.reduce_up(job, job.receive, 0));
  if (peers.rank() == 0) peers.average(job, job.receive);
  return peers.broadcast_down(job.receive, 0);
}

}  // namespace

constinit const CollectiveDefinition collectives::all_reduce{
    .name = "all_reduce",
    .reduces = true,
    .received = {.what = Received::What::reduction},
    .bus_factor = [](double ranks) { return 2 * (ranks - 1) / ranks; },
    .nccl = {.call = [](NcclCalls& nccl) { return nccl.all_reduce(); }, .log_name = "AllReduce"},
    .mpi = {.name = "MPI_Allreduce", .divisible = true},
    .tcp = over_tcp,
    .sim = {.bandwidth = [](const SimRates& rates) { return rates.ring_or_tree(); }, .passes = 2},
};

}  // namespace muster::bench
