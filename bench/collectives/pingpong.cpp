// SPDX-License-Identifier: Apache-2.0
// In each pair of ranks a message goes there and comes back: the time is that of one way.
#include "bench/collectives/definition.hpp"

namespace muster::bench {
namespace {

constexpr int kThereAndBack = 2;

Result<void> over_tcp(HostAlgorithms& peers, const HostJob& job) {
  const auto self = participant_of(peers);
  if (self.begins()) {
    if (auto sent = peers.send(self.partner(), job.send); !sent) return sent;
    return peers.receive(self.partner(), job.receive);
  }
  if (auto come = peers.receive(self.partner(), job.receive); !come) return come;
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
