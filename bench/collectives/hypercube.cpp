// SPDX-License-Identifier: Apache-2.0
// An all_gather along the edges of a hypercube, as nccl-tests' hypercube_perf: in each round a rank
// exchanges all its data with the one whose number differs in one bit.
#include <bit>

#include "bench/collectives/definition.hpp"

namespace muster::bench {
namespace {

Result<void> over_tcp(HostAlgorithms& peers, const HostJob& job) {
  copy_bytes(job.send, job.received_part(peers.rank()));
  for (int round = 0; 1 << round < peers.ranks(); ++round) {
    const auto [peer, there, here] = cube_step(peers.rank(), round);
    TRY(peers.exchange(peer, job.received_parts(here), peer, job.received_parts(there)));
  }
  return {};
}

void over_nccl(NcclCalls& nccl) {
  constexpr Stretch kFirst{.first = 0, .count = 1};
  const Stretch own{.first = static_cast<std::uint64_t>(nccl.rank), .count = 1};
  if (nccl.round == 0 && !nccl.in_place()) {
    nccl.send(nccl.rank, kFirst);
    nccl.receive(nccl.rank, own);
  }
  if (nccl.ranks == 1) return;
  const auto [peer, there, here] = cube_step(nccl.rank, nccl.round);
  if (nccl.round == 0) {
    nccl.send(peer, kFirst);  // a group must not read what it receives
  } else {
    nccl.send_on(peer, here);
  }
  nccl.receive(peer, there);
}

int rounds_among(int ranks) {
  return ranks == 1 ? 1 : static_cast<int>(std::bit_width(static_cast<unsigned>(ranks))) - 1;
}

}  // namespace

CubeStep cube_step(int rank, int round) {
  const auto distance = 1U << static_cast<unsigned>(round);
  const auto first = static_cast<unsigned>(rank) & ~(distance - 1);
  return {.peer = static_cast<int>(static_cast<unsigned>(rank) ^ distance),
          .there = {.first = first ^ distance, .count = distance},
          .here = {.first = first, .count = distance}};
}

constinit const CollectiveDefinition collectives::hypercube{
    .name = "hypercube",
    .in_parts = true,
    .power_of_two = true,
    .shape =
        [](Shape& shape, const Participant& self) {
          shape.send = shape.count;
          shape.send_at = static_cast<std::uint64_t>(self.rank) * shape.count;
        },
    .received = {.what = Received::What::every_rank},
    .bus_factor = factor_of_parts,
    .nccl = {.sends = over_nccl, .rounds = rounds_among},
    .mpi = {.name = "MPI_Sendrecv", .counts_all = true},
    .tcp = over_tcp,
    .sim = {.bandwidth = [](const SimRates& rates) { return rates.pairs(); }, .every_pair = true},
};

}  // namespace muster::bench
