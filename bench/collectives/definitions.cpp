// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <bit>

#include "bench/collectives/definition.hpp"

namespace muster::bench {
namespace {

using What = Received::What;

double factor_of_parts(double ranks) { return (ranks - 1) / ranks; }

double factor_of_one(double /*ranks*/) { return 1; }

// A rank keeps one unit of its own.
double factor_of_shares(double ranks) {
  const auto all = static_cast<double>(shares_of(static_cast<int>(ranks)));
  return (all - 1) / all;
}

std::uint64_t own_part(const Shape& shape, const Participant& self) {
  return static_cast<std::uint64_t>(self.rank) * shape.count;
}

// Every rank sends one part, which in place is its own part of the result.
void send_one_part(Shape& shape, const Participant& self) {
  shape.send = shape.count;
  shape.send_at = own_part(shape, self);
}

void receive_one_part(Shape& shape, const Participant& self) {
  shape.receive = shape.count;
  shape.receive_at = own_part(shape, self);
}

int root_of(const Participant& self) { return self.root; }

constexpr Received kFromPartner{.what = What::one_rank,
                                .from = [](const Participant& self) { return self.partner(); }};

// The messages of a window: as many as OSU's, but fewer of long ones.
int window_of(std::uint64_t bytes) {
  constexpr std::uint64_t kAtOnce = std::uint64_t{64} << 20U;
  constexpr std::uint64_t kMin = 4;
  return static_cast<int>(
      std::clamp<std::uint64_t>(kAtOnce / std::max<std::uint64_t>(bytes, 1), kMin, kWindow));
}

void hypercube_over_nccl(NcclCalls& nccl) {
  if (nccl.round == 0 && !nccl.in_place()) {
    nccl.send(nccl.rank, part_at(0));
    nccl.receive(nccl.rank, part_at(nccl.rank));
  }
  if (nccl.ranks == 1) return;
  const auto [peer, there, here] = cube_step(nccl.rank, nccl.round);
  if (nccl.round == 0) {
    nccl.send(peer, part_at(0));  // a group must not read what it receives
  } else {
    nccl.send_on(peer, here);
  }
  nccl.receive(peer, there);
}

int rounds_of_hypercube(int ranks) {
  return ranks == 1 ? 1 : static_cast<int>(std::bit_width(static_cast<unsigned>(ranks))) - 1;
}

// In the order of MUSTER_COLLECTIVES.
constexpr std::array<CollectiveDefinition, kCollectives> kDefinitions{{
    // Every rank receives the reduction of all inputs.
    {.name = "all_reduce",
     .reduces = true,
     .received = {.what = What::reduction},
     .bus_factor = [](double ranks) { return 2 * (ranks - 1) / ranks; },
     .nccl = {.call = &NcclCalls::all_reduce, .log_name = "AllReduce"},
     .mpi = {.name = "MPI_Allreduce", .divisible = true},
     .sim = {.bandwidth = &SimRates::ring_or_tree, .passes = 2}},
    // Every rank receives the parts of all ranks, in order.
    {.name = "all_gather",
     .in_parts = true,
     .shape = send_one_part,
     .received = {.what = What::every_rank},
     .bus_factor = factor_of_parts,
     .nccl = {.call = &NcclCalls::all_gather, .log_name = "AllGather"},
     .mpi = {.name = "MPI_Allgather"},
     .sim = {.bandwidth = &SimRates::ring_or_tree}},
    // Every rank receives its part of the reduction of all inputs.
    {.name = "reduce_scatter",
     .in_parts = true,
     .reduces = true,
     .shape = receive_one_part,
     .received = {.what = What::reduction, .own_part = true},
     .bus_factor = factor_of_parts,
     .nccl = {.call = &NcclCalls::reduce_scatter, .log_name = "ReduceScatter"},
     .mpi = {.name = "MPI_Reduce_scatter_block", .received_first = true},
     .sim = {.bandwidth = &SimRates::ring_or_tree}},
    // Every rank receives the root's input.
    {.name = "broadcast",
     .has_root = true,
     .one_buffer = true,  // the root has nothing to receive
     .shape = [](Shape& shape,
                 const Participant& self) { shape.send = self.is_root() ? shape.send : 0; },
     .received = {.what = What::one_rank, .from = root_of},
     .bus_factor = factor_of_one,
     .nccl = {.call = &NcclCalls::broadcast, .log_name = "Broadcast"},
     .mpi = {.name = "MPI_Bcast", .divisible = true},
     .sim = {.bandwidth = &SimRates::one_node}},
    // The root receives the reduction of all inputs.
    {.name = "reduce",
     .reduces = true,
     .has_root = true,
     .shape = [](Shape& shape,
                 const Participant& self) { shape.receive = self.is_root() ? shape.receive : 0; },
     .received = {.what = What::reduction},
     .bus_factor = factor_of_one,
     .nccl = {.call = &NcclCalls::reduce, .log_name = "Reduce"},
     .mpi = {.name = "MPI_Reduce", .divisible = true},
     .sim = {.bandwidth = &SimRates::one_node}},
    // Every rank receives its part of each rank's input, in order.
    {.name = "alltoall",
     .in_parts = true,
     .exchanges = true,
     .received = {.what = What::every_rank, .own_part = true},
     .bus_factor = factor_of_parts,
     .nccl = {.sends =
                  [](NcclCalls& nccl) {
                    for (int peer = 0; peer < nccl.ranks; ++peer) {
                      nccl.send(peer, part_at(peer));
                      nccl.receive(peer, part_at(peer));
                    }
                  },
              .in_place = false},
     .mpi = {.name = "MPI_Alltoall"},
     .sim = {.bandwidth = &SimRates::pairs, .every_pair = true}},
    // alltoall with parts of unequal sizes: see shares_of().
    {.name = "alltoallv",
     .in_parts = true,
     .unequal = true,
     .out_of_place_only = true,
     .received = {.what = What::every_rank, .own_part = true},
     .bus_factor = factor_of_shares,
     .nccl = {.sends =
                  [](NcclCalls& nccl) {
                    for (int peer = 0; peer < nccl.ranks; ++peer) {
                      nccl.send(peer, sent_to(peer, nccl.rank, nccl.ranks));
                      nccl.receive(peer, received_from(peer, nccl.rank, nccl.ranks));
                    }
                  },
              .in_place = false},
     .mpi = {.name = "MPI_Alltoallv", .counts_all = true},
     .sim = {.bandwidth = &SimRates::pairs, .every_pair = true}},
    // An all_gather along the edges of a hypercube, as nccl-tests' hypercube_perf: in each round a
    // rank exchanges all its data with the one whose number differs in one bit.
    {.name = "hypercube",
     .in_parts = true,
     .power_of_two = true,
     .shape = send_one_part,
     .received = {.what = What::every_rank},
     .bus_factor = factor_of_parts,
     .nccl = {.sends = hypercube_over_nccl, .rounds = rounds_of_hypercube},
     .mpi = {.name = "MPI_Sendrecv", .counts_all = true},
     .sim = {.bandwidth = &SimRates::pairs, .every_pair = true}},
    // Every rank sends its input to the next one.
    {
        .name = "sendrecv",
        .exchanges = true,
        .received = {.what = What::one_rank,
                     .from = [](const Participant& self) { return self.previous(); }},
        .bus_factor = factor_of_one,
        .nccl =
            {
                .sends =
                    [](NcclCalls& nccl) {
                      nccl.send(nccl.next(), part_at(0));
                      nccl.receive(nccl.previous(), part_at(0));
                    },
                .in_place = false},
        .mpi = {.name = "MPI_Sendrecv", .divisible = true},
        .sim = {.bandwidth = &SimRates::one_hca}},
    // The root receives the parts of all ranks, in order.
    {.name = "gather",
     .in_parts = true,
     .has_root = true,
     .shape =
         [](Shape& shape, const Participant& self) {
           shape.send = shape.count;
           if (!self.is_root()) shape.receive = 0;
           if (self.is_root()) shape.send_at = own_part(shape, self);
         },
     .received = {.what = What::every_rank},
     .bus_factor = factor_of_parts,
     .nccl =
         {.sends =
              [](NcclCalls& nccl) {
                nccl.send(nccl.root, part_at(0));
                for (int peer = 0; nccl.is_root() && peer < nccl.ranks; ++peer) {
                  nccl.receive(peer, part_at(peer));
                }
              }},
     .mpi = {.name = "MPI_Gather"},
     .sim = {.bandwidth = &SimRates::one_rank, .every_pair = true}},
    // Every rank receives its part of the root's input.
    {.name = "scatter",
     .in_parts = true,
     .has_root = true,
     .shape =
         [](Shape& shape, const Participant& self) {
           shape.receive = shape.count;
           if (!self.is_root()) shape.send = 0;
           if (self.is_root()) shape.receive_at = own_part(shape, self);
         },
     .received = {.what = What::one_rank, .own_part = true, .from = root_of},
     .bus_factor = factor_of_parts,
     .nccl =
         {.sends =
              [](NcclCalls& nccl) {
                for (int peer = 0; nccl.is_root() && peer < nccl.ranks; ++peer) {
                  nccl.send(peer, part_at(peer));
                }
                nccl.receive(nccl.root, part_at(0));
              }},
     .mpi = {.name = "MPI_Scatter"},
     .sim = {.bandwidth = &SimRates::one_rank, .every_pair = true}},
    // A message goes back and forth in each pair of ranks. The time is that of one direction.
    {.name = "pingpong",
     .in_pairs = true,
     .messages = [](std::uint64_t /*bytes*/) { return 2; },
     .received = kFromPartner,
     .bus_factor = factor_of_one,
     .mpi = {.name = "MPI_Send and MPI_Recv"},
     .sim = {.bandwidth = &SimRates::one_hca, .passes = 2}},
    // One rank of each pair sends windows of messages to the other. All share one buffer, as in
    // OSU and IMB.
    {.name = "uniband",
     .in_pairs = true,
     .messages = window_of,
     .shape = [](Shape& shape,
                 const Participant& self) { (self.begins() ? shape.receive : shape.send) = 0; },
     .received = kFromPartner,
     .bus_factor = factor_of_one,
     .mpi = {.name = "MPI_Isend and MPI_Irecv"},
     .sim = {.bandwidth = &SimRates::one_hca}},
    // The two ranks of each pair send windows of messages to each other at the same time.
    {.name = "biband",
     .in_pairs = true,
     .messages = window_of,
     .received = kFromPartner,
     .bus_factor = [](double /*ranks*/) { return 2.0; },  // both ways count
     .mpi = {.name = "MPI_Isend and MPI_Irecv"},
     .sim = {.bandwidth = &SimRates::both_ways}},
    // No rank continues before all have arrived. It has a time but no bandwidth.
    {.name = "barrier",
     .no_data = true,
     .bus_factor = factor_of_one,
     .mpi = {.name = "MPI_Barrier"},
     .sim = {.bandwidth = &SimRates::one_node}},
}};

#define MUSTER_COLLECTIVE(collective)                                                     \
  static_assert(kDefinitions.at(static_cast<std::size_t>(Collective::collective)).name == \
                #collective);
MUSTER_COLLECTIVES(MUSTER_COLLECTIVE)
#undef MUSTER_COLLECTIVE

constexpr std::uint64_t kTurn = 4;

std::uint64_t share_at(std::uint64_t distance) { return 1 + distance % kTurn; }

// The sum of the shares at all smaller distances.
std::uint64_t shares_below(std::uint64_t distance) {
  constexpr std::array<std::uint64_t, kTurn> kBegun{0, 1, 3, 6};
  constexpr std::uint64_t kOfTurn = 10;
  return distance / kTurn * kOfTurn + kBegun.at(distance % kTurn);
}

}  // namespace

const CollectiveDefinition& definition_of(Collective collective) {
  return kDefinitions.at(static_cast<std::size_t>(collective));
}

CubeStep cube_step(int rank, int round) {
  const auto distance = 1U << static_cast<unsigned>(round);
  const auto first = static_cast<unsigned>(rank) & ~(distance - 1);
  return {.peer = static_cast<int>(static_cast<unsigned>(rank) ^ distance),
          .there = {.first = first ^ distance, .count = distance},
          .here = {.first = first, .count = distance}};
}

std::uint64_t shares_of(int ranks) { return shares_below(static_cast<std::uint64_t>(ranks)); }

// The ranks below this one are at distances n - rank to n - 1; those from it on at 0, 1 and so on.
Stretch sent_to(int peer, int rank, int ranks) {
  const auto first = static_cast<std::uint64_t>(ranks - rank);
  const auto before = shares_of(ranks) - shares_below(first);
  if (peer < rank) {
    const auto distance = static_cast<std::uint64_t>(ranks - rank + peer);
    return {.first = shares_below(distance) - shares_below(first), .count = share_at(distance)};
  }
  const auto distance = static_cast<std::uint64_t>(peer - rank);
  return {.first = before + shares_below(distance), .count = share_at(distance)};
}

// This rank is at distances rank to 0 from the ranks up to it, and at n - 1 and less from the
// others.
Stretch received_from(int peer, int rank, int ranks) {
  const auto own = shares_below(static_cast<std::uint64_t>(rank) + 1);
  if (peer <= rank) {
    const auto distance = static_cast<std::uint64_t>(rank - peer);
    return {.first = own - shares_below(distance + 1), .count = share_at(distance)};
  }
  const auto distance = static_cast<std::uint64_t>(ranks - peer + rank);
  const auto later = shares_of(ranks) - shares_below(distance + 1);
  return {.first = own + later, .count = share_at(distance)};
}

}  // namespace muster::bench
