// SPDX-License-Identifier: Apache-2.0
// A message goes back and forth in each pair of ranks. The time is that of one direction.
#include "bench/collectives/definition.hpp"

namespace muster::bench {
namespace {

constexpr int kThereAndBack = 2;

Result<void> over_tcp(HostAlgorithms& peers, const HostJob& job) {
  const auto self = participant_of(peers);
  if (self.begins()) {
    TRY(peers.send(self.partner(), job.send));
    return peers.receive(self.partner(), job.receive);
  }
  TRY(peers.receive(self.partner(), job.receive));
  return peers.send(self.partner(), job.send);
}

}  // namespace

constinit const CollectiveDefinition collectives::pingpong{
    .name = "pingpong",
    .in_pairs = true,
    .messages = [](std::uint64_t /*bytes*/) { return kThereAndBack; },
    .received = kFromPartner,
    .bus_factor = factor_of_one,
    .mpi = {.name = "MPI_Send and MPI_Recv"},
    .tcp = over_tcp,
    .sim = {.bandwidth = [](const SimRates& rates) { return rates.hca; }, .passes = kThereAndBack},
};

}  // namespace muster::bench
