// SPDX-License-Identifier: Apache-2.0
// Every rank sends its input to the next one.
#include "bench/collectives/definition.hpp"

namespace muster::bench {
namespace {

Result<void> over_tcp(HostAlgorithms& peers, const HostJob& job) {
  if (peers.ranks() == 1) {
    copy_bytes(job.send, job.receive);
    return {};
  }
  const int next = peers.at_distance(1);
  const int previous = peers.at_distance(-1);
  if (job.operation.in_place) return peers.exchange_in_place(next, previous, job.receive);
  return peers.exchange(next, job.send, previous, job.receive);
}

}  // namespace

constinit const CollectiveDefinition collectives::sendrecv{
    .name = "sendrecv",
    .exchanges = true,
    .received = {.what = Received::What::one_rank,
                 .from = [](const Participant& self) { return self.previous(); }},
    .bus_factor = factor_of_one,
    .nccl = {.sends =
                 [](NcclCalls& nccl) {
                   nccl.send(nccl.next(), part_at(0));
                   nccl.receive(nccl.previous(), part_at(0));
                 },
             .in_place = false},
    .mpi = {.name = "MPI_Sendrecv", .divisible = true},
    .tcp = over_tcp,
    .sim = {.bandwidth = [](const SimRates& rates) { return rates.hca; }},
};

}  // namespace muster::bench
