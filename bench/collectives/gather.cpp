// SPDX-License-Identifier: Apache-2.0
// The root receives the parts of all ranks, in order.
#include "bench/collectives/definition.hpp"

namespace muster::bench {
namespace {

Result<void> over_tcp(HostAlgorithms& peers, const HostJob& job) {
  const int root = job.operation.root;
  if (peers.rank() != root) return peers.send(root, job.send);
  for (int from = 0; from < peers.ranks(); ++from) {
    if (from == root) {
      copy_bytes(job.send, job.received_part(from));
    } else {
      TRY(peers.receive(from, job.received_part(from)));
    }
  }
  return {};
}

}  // namespace

constinit const CollectiveDefinition collectives::gather{
    .name = "gather",
    .in_parts = true,
    .has_root = true,
    .shape =
        [](Shape& shape, const Participant& self) {
          shape.send = shape.count;
          if (!self.is_root()) shape.receive = 0;
          if (self.is_root()) shape.send_at = static_cast<std::uint64_t>(self.rank) * shape.count;
        },
    .received = {.what = Received::What::every_rank},
    .bus_factor = factor_of_parts,
    .nccl = {.sends =
                 [](NcclCalls& nccl) {
                   nccl.send(nccl.root, part_at(0));
                   for (int peer = 0; nccl.is_root() && peer < nccl.ranks; ++peer) {
                     nccl.receive(peer, part_at(peer));
                   }
                 }},
    .mpi = {.name = "MPI_Gather"},
    .tcp = over_tcp,
    .sim = {.bandwidth = [](const SimRates& rates) { return rates.one_rank(); },
            .every_pair = true},
};

}  // namespace muster::bench
