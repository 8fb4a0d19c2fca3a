// SPDX-License-Identifier: Apache-2.0
// Every rank receives its part of each rank's input, in order.
#include "bench/collectives/definition.hpp"

namespace muster::bench {
namespace {

// Each round exchanges in pairs, so that nothing is lost in place.
Result<void> over_tcp(HostAlgorithms& peers, const HostJob& job) {
  for (int round = 0; round < peers.ranks(); ++round) {
    const int peer = (round - peers.rank() + peers.ranks()) % peers.ranks();
    const auto out = job.sent_part(peer);
    const auto in = job.received_part(peer);
    if (peer == peers.rank()) {
      copy_bytes(out, in);
      continue;
    }
    TRY(job.operation.in_place ? peers.exchange_in_place(peer, peer, in)
                               : peers.exchange(peer, out, peer, in));
  }
  return {};
}

}  // namespace

constinit const CollectiveDefinition collectives::alltoall{
    .name = "alltoall",
    .in_parts = true,
    .exchanges = true,
    .received = {.what = Received::What::every_rank, .own_part = true},
    .bus_factor = factor_of_parts,
    .nccl = {.sends =
                 [](NcclCalls& nccl) {
                   for (int peer = 0; peer < nccl.ranks; ++peer) {
                     nccl.send(peer, part_at(peer));
                     nccl.receive(peer, part_at(peer));
                   }
                 },
             .in_place = false},
    .mpi = {.name = "MPI_Alltoall"},
    .tcp = over_tcp,
    .sim = {.bandwidth = [](const SimRates& rates) { return rates.pairs(); }, .every_pair = true},
};

}  // namespace muster::bench
