// SPDX-License-Identifier: Apache-2.0
#include "bench/collectives/definition.hpp"

#include <algorithm>
#include <array>
#include <bit>

#include "lib/base/quantity.hpp"

namespace muster::bench {
namespace {

using What = Received::What;
using By = NcclUse::By;

double factor_of_parts(double ranks) { return (ranks - 1) / ranks; }

// A rank keeps one unit for itself.
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

Stretch only_part(const Participant& /*self*/, int /*peer*/) { return part_at(0); }

Stretch part_of_peer(const Participant& /*self*/, int peer) { return part_at(peer); }

Stretch only_part_of_root(const Participant& self, int peer) {
  return peer == self.root ? part_at(0) : Stretch{};
}

Stretch part_of_peer_at_root(const Participant& self, int peer) {
  return self.is_root() ? part_at(peer) : Stretch{};
}

constexpr Received kFromPartner{.what = What::one_rank,
                                .from = [](const Participant& self) { return self.partner(); }};

// The messages of a window: as many as OSU's, but fewer of long ones.
int window_of(std::uint64_t bytes) {
  constexpr std::uint64_t kAtOnce = std::uint64_t{64} << 20U;
  constexpr std::uint64_t kMin = 4;
  return static_cast<int>(
      std::clamp<std::uint64_t>(kAtOnce / std::max<std::uint64_t>(bytes, 1), kMin, kWindow));
}

// In the order of MUSTER_COLLECTIVES.
constexpr std::array<CollectiveDefinition, kCollectives> kDefinitions{{
    // Every rank receives the reduction of all inputs.
    {.name = "all_reduce",
     .reduces = true,
     .received = {.what = What::reduction},
     .bus_factor = [](double ranks) { return 2 * (ranks - 1) / ranks; },
     .nccl = {.by = By::function, .log_name = "AllReduce"},
     .mpi = {.name = "MPI_Allreduce", .divisible = true},
     .sim = {.bandwidth = &SimRates::ring_or_tree, .passes = 2}},
    // Every rank receives the parts of all ranks, in order.
    {.name = "all_gather",
     .in_parts = true,
     .shape = send_one_part,
     .received = {.what = What::every_rank},
     .parts = {.sent = only_part, .received = part_of_peer},
     .bus_factor = factor_of_parts,
     .nccl = {.by = By::function, .log_name = "AllGather"},
     .mpi = {.name = "MPI_Allgather"},
     .sim = {.bandwidth = &SimRates::ring_or_tree}},
    // Every rank receives its part of the reduction of all inputs.
    {.name = "reduce_scatter",
     .in_parts = true,
     .reduces = true,
     .shape = receive_one_part,
     .received = {.what = What::reduction, .own_part = true},
     .bus_factor = factor_of_parts,
     .nccl = {.by = By::function, .log_name = "ReduceScatter"},
     .mpi = {.name = "MPI_Reduce_scatter_block", .received_first = true},
     .sim = {.bandwidth = &SimRates::ring_or_tree}},
    // Every rank receives the root's input.
    {.name = "broadcast",
     .has_root = true,
     .one_buffer = true,  // the root has nothing to receive
     .shape = [](Shape& shape,
                 const Participant& self) { shape.send = self.is_root() ? shape.send : 0; },
     .received = {.what = What::one_rank, .from = root_of},
     .nccl = {.by = By::function, .log_name = "Broadcast"},
     .mpi = {.name = "MPI_Bcast", .divisible = true},
     .sim = {.bandwidth = &SimRates::one_node}},
    // The root receives the reduction of all inputs.
    {.name = "reduce",
     .reduces = true,
     .has_root = true,
     .shape = [](Shape& shape,
                 const Participant& self) { shape.receive = self.is_root() ? shape.receive : 0; },
     .received = {.what = What::reduction},
     .nccl = {.by = By::function, .log_name = "Reduce"},
     .mpi = {.name = "MPI_Reduce", .divisible = true},
     .sim = {.bandwidth = &SimRates::one_node}},
    // Every rank receives its part of each rank's input, in order.
    {.name = "alltoall",
     .in_parts = true,
     .exchanges = true,
     .received = {.what = What::every_rank},
     .parts = {.sent = part_of_peer, .received = part_of_peer},
     .bus_factor = factor_of_parts,
     .nccl = {.by = By::group},
     .mpi = {.name = "MPI_Alltoall"},
     .sim = {.bandwidth = &SimRates::pairs, .every_pair = true}},
    // alltoall with parts of unequal sizes: see shares_of().
    {.name = "alltoallv",
     .in_parts = true,
     .unequal = true,
     .out_of_place_only = true,
     .received = {.what = What::every_rank},
     .parts = {.sent = [](const Participant& self,
                          int peer) { return sent_to(peer, self.rank, self.ranks); },
               .received = [](const Participant& self,
                              int peer) { return received_from(peer, self.rank, self.ranks); }},
     .bus_factor = factor_of_shares,
     .nccl = {.by = By::group},
     .mpi = {.name = "MPI_Alltoallv", .counts_all = true},
     .sim = {.bandwidth = &SimRates::pairs, .every_pair = true}},
    // An all_gather along the edges of a hypercube, as nccl-tests' hypercube_perf: in each round a
    // rank exchanges all its data with the one whose number differs in one bit.
    {.name = "hypercube",
     .in_parts = true,
     .power_of_two = true,
     .shape = send_one_part,
     .received = {.what = What::every_rank},
     .parts = {.sent = only_part, .received = part_of_peer},
     .bus_factor = factor_of_parts,
     .nccl = {.by = By::groups},
     .mpi = {.name = "MPI_Sendrecv", .counts_all = true},
     .sim = {.bandwidth = &SimRates::pairs, .every_pair = true}},
    // Every rank sends its input to the next one.
    {.name = "sendrecv",
     .exchanges = true,
     .received = {.what = What::one_rank,
                  .from = [](const Participant& self) { return self.previous(); }},
     .nccl = {.by = By::group},
     .mpi = {.name = "MPI_Sendrecv", .divisible = true},
     .sim = {.bandwidth = &SimRates::one_hca}},
    // The root receives the parts of all ranks, in order.
    {.name = "gather",
     .in_parts = true,
     .has_root = true,
     .shape =
         [](Shape& shape, const Participant& self) {
           send_one_part(shape, self);
           if (!self.is_root()) shape.receive = shape.send_at = 0;
         },
     .received = {.what = What::every_rank},
     .parts = {.sent = only_part_of_root, .received = part_of_peer_at_root},
     .bus_factor = factor_of_parts,
     .nccl = {.by = By::group},
     .mpi = {.name = "MPI_Gather"},
     .sim = {.bandwidth = &SimRates::one_rank, .every_pair = true}},
    // Every rank receives its part of the root's input.
    {.name = "scatter",
     .in_parts = true,
     .has_root = true,
     .shape =
         [](Shape& shape, const Participant& self) {
           receive_one_part(shape, self);
           if (!self.is_root()) shape.send = shape.receive_at = 0;
         },
     .received = {.what = What::one_rank, .own_part = true, .from = root_of},
     .parts = {.sent = part_of_peer_at_root, .received = only_part_of_root},
     .bus_factor = factor_of_parts,
     .nccl = {.by = By::group},
     .mpi = {.name = "MPI_Scatter"},
     .sim = {.bandwidth = &SimRates::one_rank, .every_pair = true}},
    // A message goes back and forth in each pair of ranks. The time is that of one direction.
    {.name = "pingpong",
     .in_pairs = true,
     .messages = [](std::uint64_t /*bytes*/) { return 2; },
     .received = kFromPartner,
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

struct TypeRow {
  std::string_view table_name;
  std::size_t size;
};

constexpr std::array<TypeRow, kTypes> kTypeRows{{
    {"float", 4},
    {"double", 8},
    {"half", 2},
    {"bfloat16", 2},
    {"f8e4m3", 1},
    {"f8e5m2", 1},
    {"int8", 1},
    {"int32", 4},
    {"int64", 8},
    {"uint8", 1},
    {"uint32", 4},
    {"uint64", 8},
}};

// Parts are multiples of 16 bytes, as in nccl-tests.
std::uint64_t part_of(std::uint64_t elements, std::size_t size, std::uint64_t ranks) {
  const std::uint64_t unit = 16 / size;
  return elements / ranks / unit * unit;
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

std::string_view table_name(Type type) {
  return kTypeRows.at(static_cast<std::size_t>(type)).table_name;
}

std::string size_text(std::uint64_t bytes) { return to_string(Bytes{static_cast<double>(bytes)}); }

std::size_t size_of(Type type) { return kTypeRows.at(static_cast<std::size_t>(type)).size; }

bool reduces(Collective collective) { return definition_of(collective).reduces; }

bool has_root(Collective collective) { return definition_of(collective).has_root; }

bool moves_data(Collective collective) { return !definition_of(collective).no_data; }

Result<void> can_run(const Operation& operation, int ranks) {
  const auto& definition = definition_of(operation.collective);
  const bool never_in_place =
      definition.in_pairs || definition.no_data || definition.out_of_place_only;
  if (operation.in_place && never_in_place) {
    return make_error("{} cannot run in place", definition.name);
  }
  if (definition.in_pairs && ranks % 2 != 0) {
    return make_error("{} needs an even number of ranks, got {}", definition.name, ranks);
  }
  if (definition.power_of_two && !std::has_single_bit(static_cast<unsigned>(ranks))) {
    return make_error("{} needs 2, 4, 8 … ranks, got {}", definition.name, ranks);
  }
  return {};
}

int messages_of(const Operation& operation) {
  const auto messages = definition_of(operation.collective).messages;
  return messages == nullptr ? 1 : messages(operation.bytes);
}

bool is_repeatable(const Operation& operation) {
  if (!operation.in_place) return true;
  const auto& definition = definition_of(operation.collective);
  if (definition.exchanges) return false;
  return !definition.reduces || operation.reduction == Reduction::min ||
         operation.reduction == Reduction::max;
}

Shape shape_of(const Operation& operation, int rank, int ranks) {
  const auto& definition = definition_of(operation.collective);
  const auto size = size_of(operation.type);
  const auto elements = definition.no_data ? 0 : operation.bytes / size;
  const auto equal = definition.in_parts ? static_cast<std::uint64_t>(ranks) : 1;
  const auto parts = definition.unequal ? shares_of(ranks) : equal;
  const auto count = definition.in_parts ? part_of(elements, size, parts) : elements;
  const auto all = count * parts;
  Shape shape{.count = count, .send = all, .receive = all, .bytes = all * size};
  if (definition.shape != nullptr) {
    definition.shape(shape, {.rank = rank, .ranks = ranks, .root = operation.root});
  }
  return shape;
}

double bus_factor(Collective collective, int ranks) {
  return ranks <= 1 ? 0 : definition_of(collective).bus_factor(ranks);
}

}  // namespace muster::bench
