// SPDX-License-Identifier: Apache-2.0
// In each pair of ranks both send windows of messages to each other, which are under way together.
#include "bench/collectives/definition.hpp"

namespace muster::bench {
namespace {

Result<void> over_tcp(HostAlgorithms& peers, const HostJob& job) {
  const int partner = participant_of(peers).partner();
  for (int i = 0; i < messages_of(job.operation); ++i) {
    auto moved = peers.exchange(partner, job.send, partner, job.receive);
    if (!moved) return moved;
  }
  return {};
}

}  // namespace

constinit const CollectiveDefinition collectives::biband{
    .name = "biband",
    .in_pairs = true,
    .messages = window_of,
    .received = kFromPartner,
    .bus_factor = [](double /*ranks*/) { return 2.0; },  // both ways count
    .mpi = {.name = "MPI_Isend and MPI_Irecv"},
    .tcp = over_tcp,
    .sim = {.bandwidth = [](const SimRates& rates) { return 2 * rates.hca; }},
};

}  // namespace muster::bench
