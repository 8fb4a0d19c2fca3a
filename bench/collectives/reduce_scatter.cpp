// SPDX-License-Identifier: Apache-2.0
// Every rank receives its part of the reduction of all inputs.
#include "bench/collectives/definition.hpp"

namespace muster::bench {
namespace {

Result<void> over_tcp(HostAlgorithms& peers, const HostJob& job) {
  copy_bytes(job.sent_part(peers.rank()), job.receive);
  for (int distance = 1; distance < peers.ranks(); ++distance) {
    const int to = peers.at_distance(distance);
    const int from = peers.at_distance(-distance);
    TRY(peers.exchange_and_combine(job, to, job.sent_part(to), from, job.receive));
  }
  peers.average(job, job.receive);
  return {};
}

}  // namespace

constinit const CollectiveDefinition collectives::reduce_scatter{
    .name = "reduce_scatter",
    .in_parts = true,
    .reduces = true,
    .shape =
        [](Shape& shape, const Participant& self) {
          shape.receive = shape.count;
          shape.receive_at = static_cast<std::uint64_t>(self.rank) * shape.count;
        },
    .received = {.what = Received::What::reduction, .own_part = true},
    .bus_factor = factor_of_parts,
    .nccl = {.call = [](NcclCalls& nccl) { return nccl.reduce_scatter(); },
             .log_name = "ReduceScatter"},
    .mpi = {.name = "MPI_Reduce_scatter_block", .received_first = true},
    .tcp = over_tcp,
    .sim = {.bandwidth = [](const SimRates& rates) { return rates.ring_or_tree(); }},
};

}  // namespace muster::bench
