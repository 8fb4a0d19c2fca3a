// SPDX-License-Identifier: Apache-2.0
// One rank of each pair sends windows of messages to the other. All share one buffer, as in OSU and
// IMB.
#include <array>

#include "bench/collectives/definition.hpp"

namespace muster::bench {
namespace {

Result<void> over_tcp(HostAlgorithms& peers, const HostJob& job) {
  const auto self = participant_of(peers);
  std::array<std::byte, 1> word{};
  for (int i = 0; i < messages_of(job.operation); ++i) {
    TRY(self.begins() ? peers.send(self.partner(), job.send)
                      : peers.receive(self.partner(), job.receive));
  }
  return self.begins() ? peers.receive(self.partner(), word) : peers.send(self.partner(), word);
}

}  // namespace

constinit const CollectiveDefinition collectives::uniband{
    .name = "uniband",
    .in_pairs = true,
    .messages = window_of,
    .shape = [](Shape& shape,
                const Participant& self) { (self.begins() ? shape.receive : shape.send) = 0; },
    .received = kFromPartner,
    .bus_factor = factor_of_one,
    .mpi = {.name = "MPI_Isend and MPI_Irecv"},
    .tcp = over_tcp,
    .sim = {.bandwidth = [](const SimRates& rates) { return rates.hca; }},
};

}  // namespace muster::bench
