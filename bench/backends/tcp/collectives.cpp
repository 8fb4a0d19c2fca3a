// SPDX-License-Identifier: Apache-2.0
// The collectives over connections between all ranks: long vectors go around rings in blocks, short
// ones along trees.
#include <algorithm>
#include <array>
#include <cstring>

#include "bench/backends/tcp/mesh.hpp"
#include "bench/collectives/definition.hpp"

namespace muster::bench::tcp {
namespace {

// An operation on buffers of bytes.
struct Job {
  Operation operation;
  std::size_t width = 0;  // of an element
  std::size_t part = 0;   // of one rank, if the data are divided
  OutBytes send;
  InBytes receive;
  Combine combine = nullptr;

  [[nodiscard]] OutBytes sent(Stretch parts) const {
    return send.subspan(parts.first * part, parts.count * part);
  }

  [[nodiscard]] InBytes received(Stretch parts) const {
    return receive.subspan(parts.first * part, parts.count * part);
  }
};

Participant participant_of(const Mesh& mesh, const Job& job) {
  return {.rank = mesh.rank(), .ranks = mesh.ranks(), .root = job.operation.root};
}

void copy_bytes(OutBytes from, InBytes to) {
  if (!from.empty() && from.data() != to.data()) std::memcpy(to.data(), from.data(), from.size());
}

// Whether a vector is too short for a ring.
bool is_short(OutBytes vector) { return vector.size() < std::size_t{64} << 10U; }

// Removes the next block from the front of `rest`.
template <class Byte>
std::span<Byte> take_block(std::span<Byte>& rest) {
  const auto block = rest.first(std::min(rest.size(), Mesh::kBlockBytes));
  rest = rest.subspan(block.size());
  return block;
}

// One rank's elements of a vector that is divided as evenly as possible.
InBytes segment_of(InBytes vector, std::size_t width, int rank, int ranks) {
  const auto elements = vector.size() / width;
  const auto n = static_cast<std::size_t>(ranks);
  const auto i = static_cast<std::size_t>(rank);
  const auto begin = elements / n * i + std::min(elements % n, i);
  const auto length = elements / n + (i < elements % n ? 1 : 0);
  return vector.subspan(begin * width, length * width);
}

// Turns sums into averages if that is the operation's reduction.
void average(const Mesh& mesh, const Job& job, InBytes sums) {
  if (job.operation.reduction != Reduction::avg) return;
  divide(job.operation.type, sums.data(), sums.size() / job.width, mesh.ranks());
}

// Sends `out` and combines the vector that arrives with `both`.
Result<void> exchange_and_combine(Mesh& mesh, const Job& job, int to, OutBytes out, int from,
                                  InBytes both) {
  while (!out.empty() || !both.empty()) {
    const auto target = take_block(both);
    const auto in = mesh.incoming_block(target.size());
    TRY(mesh.exchange(to, take_block(out), from, in));
    job.combine(in.data(), target.data(), target.size() / job.width);
  }
  return {};
}

// Sends a vector and replaces it with the one that arrives.
Result<void> exchange_in_place(Mesh& mesh, int to, int from, InBytes vector) {
  while (!vector.empty()) {
    const auto block = take_block(vector);
    const auto in = mesh.incoming_block(block.size());
    TRY(mesh.exchange(to, block, from, in));
    copy_bytes(in, block);
  }
  return {};
}

// Each rank starts with the segment `first` places after its own and receives all others.
Result<void> gather_around(const Mesh& mesh, const Job& job, int first) {
  const auto segment = [&](int distance) {
    return segment_of(job.receive, job.width, mesh.at_distance(distance), mesh.ranks());
  };
  for (int step = 0; step < mesh.ranks() - 1; ++step) {
    TRY(mesh.exchange(mesh.at_distance(1), segment(first - step), mesh.at_distance(-1),
                      segment(first - step - 1)));
  }
  return {};
}

// Reduces one vector per rank, of at most one block, into that of `root`. Overwrites all of them.
Result<void> reduce_up(Mesh& mesh, const Job& job, InBytes vector, int root) {
  const int place = mesh.at_distance(-root);
  const auto in = mesh.incoming_block(vector.size());
  for (int distance = 1; distance < mesh.ranks(); distance *= 2) {
    if ((place & distance) != 0) return mesh.send(mesh.at_distance(-distance), vector);
    if (place + distance >= mesh.ranks()) continue;
    TRY(mesh.receive(mesh.at_distance(distance), in));
    job.combine(in.data(), vector.data(), vector.size() / job.width);
  }
  return {};
}

Result<void> broadcast_down(const Mesh& mesh, InBytes vector, int root) {
  const int place = mesh.at_distance(-root);
  int distance = 1;
  while (distance < mesh.ranks() && (place & distance) == 0) distance *= 2;
  if (place != 0) TRY(mesh.receive(mesh.at_distance(-distance), vector));
  for (distance /= 2; distance > 0; distance /= 2) {
    if (place + distance >= mesh.ranks()) continue;
    TRY(mesh.send(mesh.at_distance(distance), vector));
  }
  return {};
}

// Each rank forwards a block while it receives the next one.
Result<void> broadcast_along(const Mesh& mesh, InBytes vector, int root) {
  const int place = mesh.at_distance(-root);
  const bool is_last = place == mesh.ranks() - 1;
  InBytes coming = place == 0 ? InBytes{} : vector;
  InBytes going = place == 0 ? vector : InBytes{};
  while (!coming.empty() || !going.empty()) {
    const auto in = take_block(coming);
    const auto out = place == 0 ? take_block(going) : going;
    TRY(mesh.exchange(mesh.at_distance(1), out, mesh.at_distance(-1), in));
    if (place != 0) going = is_last ? InBytes{} : in;
  }
  return {};
}

// In the first round each segment collects the sums of all ranks, in the second the finished
// segments go around. Short vectors are reduced at rank 0 and broadcast.
Result<void> all_reduce(Mesh& mesh, const Job& job) {
  copy_bytes(job.send, job.receive);
  if (is_short(job.receive)) {
    TRY(reduce_up(mesh, job, job.receive, 0));
    if (mesh.rank() == 0) average(mesh, job, job.receive);
    return broadcast_down(mesh, job.receive, 0);
  }
  const auto segment = [&](int distance) {
    return segment_of(job.receive, job.width, mesh.at_distance(distance), mesh.ranks());
  };
  for (int step = 0; step < mesh.ranks() - 1; ++step) {
    TRY(exchange_and_combine(mesh, job, mesh.at_distance(1), segment(-step), mesh.at_distance(-1),
                             segment(-step - 1)));
  }
  average(mesh, job, segment(1));
  return gather_around(mesh, job, 1);
}

Result<void> all_gather(Mesh& mesh, const Job& job) {
  copy_bytes(job.send, segment_of(job.receive, job.width, mesh.rank(), mesh.ranks()));
  return gather_around(mesh, job, 0);
}

Result<void> reduce_scatter(Mesh& mesh, const Job& job) {
  copy_bytes(job.sent(part_at(mesh.rank())), job.receive);
  for (int distance = 1; distance < mesh.ranks(); ++distance) {
    const int to = mesh.at_distance(distance);
    TRY(exchange_and_combine(mesh, job, to, job.sent(part_at(to)), mesh.at_distance(-distance),
                             job.receive));
  }
  average(mesh, job, job.receive);
  return {};
}

Result<void> broadcast(Mesh& mesh, const Job& job) {
  if (mesh.ranks() == 1) return {};
  if (is_short(job.receive)) return broadcast_down(mesh, job.receive, job.operation.root);
  return broadcast_along(mesh, job.receive, job.operation.root);
}

// Sends blocks, so that several are in transit at the same time.
Result<void> reduce(Mesh& mesh, const Job& job) {
  auto own = job.send;
  auto result = job.receive;
  while (!own.empty()) {
    const auto out = take_block(own);
    const auto sum =
        mesh.rank() == job.operation.root ? take_block(result) : mesh.outgoing_block(out.size());
    copy_bytes(out, sum);
    TRY(reduce_up(mesh, job, sum, job.operation.root));
  }
  average(mesh, job, job.receive);
  return {};
}

// Exchanges parts with each rank. Every round exchanges in pairs, so that nothing is lost in place.
Result<void> exchange_parts(Mesh& mesh, const Job& job) {
  const auto& definition = definition_of(job.operation.collective);
  const bool replaces = job.operation.in_place && definition.exchanges;
  const auto self = participant_of(mesh, job);
  for (int round = 0; round < mesh.ranks(); ++round) {
    const int peer = (round - mesh.rank() + mesh.ranks()) % mesh.ranks();
    const auto sent = job.sent(definition.parts.sent(self, peer));
    const auto received = job.received(definition.parts.received(self, peer));
    if (peer == mesh.rank()) {
      copy_bytes(sent, received);
    } else if (replaces) {
      TRY(exchange_in_place(mesh, peer, peer, received));
    } else {
      TRY(mesh.exchange(peer, sent, peer, received));
    }
  }
  return {};
}

constexpr auto* alltoall = exchange_parts;
constexpr auto* alltoallv = exchange_parts;
constexpr auto* gather = exchange_parts;
constexpr auto* scatter = exchange_parts;

Result<void> hypercube(Mesh& mesh, const Job& job) {
  copy_bytes(job.send, job.received(part_at(mesh.rank())));
  for (int round = 0; 1 << round < mesh.ranks(); ++round) {
    const auto [peer, there, here] = cube_step(mesh.rank(), round);
    TRY(mesh.exchange(peer, job.received(here), peer, job.received(there)));
  }
  return {};
}

Result<void> sendrecv(Mesh& mesh, const Job& job) {
  if (mesh.ranks() == 1) {
    copy_bytes(job.send, job.receive);
    return {};
  }
  const int next = mesh.at_distance(1);
  const int previous = mesh.at_distance(-1);
  if (job.operation.in_place) return exchange_in_place(mesh, next, previous, job.receive);
  return mesh.exchange(next, job.send, previous, job.receive);
}

Result<void> pingpong(Mesh& mesh, const Job& job) {
  const auto self = participant_of(mesh, job);
  if (self.begins()) TRY(mesh.send(self.partner(), job.send));
  TRY(mesh.receive(self.partner(), job.receive));
  return self.begins() ? Result<void>() : mesh.send(self.partner(), job.send);
}

Result<void> uniband(Mesh& mesh, const Job& job) {
  const auto self = participant_of(mesh, job);
  std::array<std::byte, 1> word{};
  for (int i = 0; i < messages_of(job.operation); ++i) {
    TRY(self.begins() ? mesh.send(self.partner(), job.send)
                      : mesh.receive(self.partner(), job.receive));
  }
  return self.begins() ? mesh.receive(self.partner(), word) : mesh.send(self.partner(), word);
}

Result<void> biband(Mesh& mesh, const Job& job) {
  const int partner = participant_of(mesh, job).partner();
  for (int i = 0; i < messages_of(job.operation); ++i) {
    TRY(mesh.exchange(partner, job.send, partner, job.receive));
  }
  return {};
}

Result<void> barrier(Mesh& mesh, const Job& /*job*/) { return mesh.barrier(); }

#define MUSTER_COLLECTIVE(name) name,
constexpr std::array<Result<void> (*)(Mesh& mesh, const Job& job), kCollectives> kAll{
    MUSTER_COLLECTIVES(MUSTER_COLLECTIVE)};
#undef MUSTER_COLLECTIVE

}  // namespace

Result<void> Mesh::barrier() const {
  const std::array<std::byte, 1> out{};
  std::array<std::byte, 1> in{};
  for (int distance = 1; distance < ranks(); distance *= 2) {
    TRY(exchange(at_distance(distance), out, at_distance(-distance), in));
  }
  return {};
}

Result<void> run_operation(Mesh& mesh, const Operation& operation,
                           const HostMemory::Buffers& buffers) {
  const auto width = size_of(operation.type);
  const auto& shape = buffers.shape;
  return kAll.at(static_cast<std::size_t>(operation.collective))(
      mesh, {.operation = operation,
             .width = width,
             .part = shape.count * width,
             .send = {buffers.send, shape.send * width},
             .receive = {buffers.receive, shape.receive * width},
             .combine = combine_of(operation.type, operation.reduction)});
}

}  // namespace muster::bench::tcp
