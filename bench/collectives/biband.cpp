// SPDX-License-Identifier: Apache-2.0
// The two ranks of each pair send windows of messages to each other at the same time.
#include "bench/collectives/definition.hpp"

namespace muster::bench {
namespace {

Result<void> over_tcp(HostAlgorithms& peers, const HostJob& job) {
  const int partner = participant_of(peers).partner();
  for (int i = 0; i < messages_of(job.operation); ++i) {
    TRY(peers.exchange(partner, job.send, partner, job.receive));
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
