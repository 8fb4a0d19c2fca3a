// SPDX-License-Identifier: Apache-2.0
// alltoall with parts of unequal sizes: see shares.hpp.
#include "bench/collectives/definition.hpp"
#include "bench/collectives/shares.hpp"

namespace muster::bench {
namespace {

Result<void> over_tcp(HostAlgorithms& peers, const HostJob& job) {
  const int ranks = peers.ranks();
  for (int round = 0; round < ranks; ++round) {
    const int peer = (round - peers.rank() + ranks) % ranks;
    const auto out = job.sent_parts(sent_to(peer, peers.rank(), ranks));
    const auto in = job.received_parts(received_from(peer, peers.rank(), ranks));
    if (peer == peers.rank()) {
      copy_bytes(out, in);
    } else {
      TRY(peers.exchange(peer, out, peer, in));
    }
  }
  return {};
}

}  // namespace

constinit const CollectiveDefinition collectives::alltoallv{
    .name = "alltoallv",
    .in_parts = true,
    .unequal = true,
    .out_of_place_only = true,
    .received = {.what = Received::What::every_rank, .own_part = true},
    .bus_factor =
        [](double ranks) {
          const auto all = static_cast<double>(shares_of(static_cast<int>(ranks)));
          return (all - 1) / all;  // without the unit that a rank keeps
        },
    .nccl = {.sends =
                 [](NcclCalls& nccl) {
                   for (int peer = 0; peer < nccl.ranks; ++peer) {
                     nccl.send(peer, sent_to(peer, nccl.rank, nccl.ranks));
                     nccl.receive(peer, received_from(peer, nccl.rank, nccl.ranks));
                   }
                 },
             .in_place = false},
    .mpi = {.name = "MPI_Alltoallv", .counts_all = true},
    .tcp = over_tcp,
    .sim = {.bandwidth = [](const SimRates& rates) { return rates.pairs(); }, .every_pair = true},
};

}  // namespace muster::bench
