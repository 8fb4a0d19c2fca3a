// SPDX-License-Identifier: Apache-2.0
// Every rank receives its part of the root's input.
#include "bench/collectives/definition.hpp"

namespace muster::bench {
namespace {

Result<void> over_tcp(HostAlgorithms& peers, const HostJob& job) {
  const int root = job.operation.root;
  if (peers.rank() != root) return peers.receive(root, job.receive);
  for (int to = 0; to < peers.ranks(); ++to) {
    if (to == root) {
      copy_bytes(job.sent_part(to), job.receive);
    } else {
      TRY(peers.send(to, job.sent_part(to)));
    }
  }
  return {};
}

}  // namespace

constinit const CollectiveDefinition collectives::scatter{
    .name = "scatter",
    .in_parts = true,
    .has_root = true,
    .shape =
        [](Shape& shape, const Participant& self) {
          shape.receive = shape.count;
          if (!self.is_root()) shape.send = 0;
          if (self.is_root()) {
            shape.receive_at = static_cast<std::uint64_t>(self.rank) * shape.count;
          }
        },
    .received = {.what = Received::What::one_rank,
                 .own_part = true,
                 .from = [](const Participant& self) { return self.root; }},
    .bus_factor = factor_of_parts,
    .nccl = {.sends =
                 [](NcclCalls& nccl) {
                   for (int peer = 0; nccl.is_root() && peer < nccl.ranks; ++peer) {
                     nccl.send(peer, part_at(peer));
                   }
                   nccl.receive(nccl.root, part_at(0));
                 }},
    .mpi = {.name = "MPI_Scatter"},
    .tcp = over_tcp,
    .sim = {.bandwidth = [](const SimRates& rates) { return rates.one_rank(); },
            .every_pair = true},
};

}  // namespace muster::bench
