// SPDX-License-Identifier: Apache-2.0
#include "bench/backends/tcp/collectives.hpp"

#include <algorithm>
#include <array>
#include <cstring>

namespace muster::bench::tcp {
namespace {

// Small enough to stay in a cache between coming and being added, large enough for few calls.
constexpr std::size_t kBlock = std::size_t{256} << 10U;
// Shorter vectors are not worth the steps around a ring.
constexpr std::size_t kShort = std::size_t{64} << 10U;

void copy(std::span<const std::byte> from, std::span<std::byte> to) {
  if (!from.empty() && from.data() != to.data()) std::memcpy(to.data(), from.data(), from.size());
}

// The whole elements of one rank, as even as they come.
std::span<std::byte> segment_of(std::span<std::byte> vector,
                                std::size_t width,
                                int rank,
                                int ranks) {
  const auto elements = vector.size() / width;
  const auto n = static_cast<std::size_t>(ranks);
  const auto i = static_cast<std::size_t>(rank);
  const auto begin = elements / n * i + std::min(elements % n, i);
  const auto length = elements / n + (i < elements % n ? 1 : 0);
  return vector.subspan(begin * width, length * width);
}

// The next block of a vector that is worked off from its front.
template <class Byte>
std::span<Byte> take_block(std::span<Byte>& rest) {
  const auto block = rest.first(std::min(rest.size(), kBlock));
  rest = rest.subspan(block.size());
  return block;
}

}  // namespace

Collectives::Collectives(const Mesh& mesh)
    : mesh_(mesh), rank_(mesh.rank()), ranks_(mesh.ranks()), incoming_(kBlock), outgoing_(kBlock) {}

int Collectives::at_distance(int distance) const {
  return ((rank_ + distance) % ranks_ + ranks_) % ranks_;
}

void Collectives::average(const Job& job, Bytes sums) const {
  if (job.operation.reduction != Reduction::avg) return;
  divide(job.operation.type, sums.data(), sums.size() / job.width, ranks_);
}

Result<void> Collectives::run(const Operation& operation, const HostMemory::Buffers& buffers) {
  const auto width = size_of(operation.type);
  const auto& shape = buffers.shape;
  const Job job{.operation = operation,
                .width = width,
                .part = shape.count * width,
                .send = {buffers.send, shape.send * width},
                .receive = {buffers.receive, shape.receive * width},
                .combine = combine_of(operation.type, operation.reduction)};
  switch (operation.collective) {
    case Collective::all_reduce:
      return all_reduce(job);
    case Collective::all_gather:
      return all_gather(job);
    case Collective::reduce_scatter:
      return reduce_scatter(job);
    case Collective::broadcast:
      return broadcast(job);
    case Collective::reduce:
      return reduce(job);
    case Collective::alltoall:
      return alltoall(job);
    case Collective::sendrecv:
      return sendrecv(job);
    case Collective::gather:
      return gather(job);
    case Collective::scatter:
      break;
  }
  return scatter(job);
}

Result<void> Collectives::barrier() {
  const std::array<std::byte, 1> out{};
  std::array<std::byte, 1> in{};
  for (int distance = 1; distance < ranks_; distance *= 2) {
    auto met = mesh_.exchange(at_distance(distance), out, at_distance(-distance), in);
    if (!met) return met;
  }
  return {};
}

Result<void> Collectives::all_reduce(const Job& job) {
  copy(job.send, job.receive);
  if (job.receive.size() >= kShort) return reduce_around(job);
  if (auto up = reduce_up(job, job.receive, 0); !up) return up;
  if (rank_ == 0) average(job, job.receive);
  return broadcast_down(job.receive, 0);
}

// In the first round each segment collects the sums of all ranks on its way, in the second one the
// finished segments go around.
Result<void> Collectives::reduce_around(const Job& job) {
  const auto segment = [&](int distance) {
    return segment_of(job.receive, job.width, at_distance(distance), ranks_);
  };
  for (int step = 0; step < ranks_ - 1; ++step) {
    auto moved = exchange_and_combine(
        job, at_distance(1), segment(-step), at_distance(-1), segment(-step - 1));
    if (!moved) return moved;
  }
  average(job, segment(1));
  return gather_around(job.receive, job.width, 1);
}

Result<void> Collectives::gather_around(Bytes vector, std::size_t width, int first) {
  for (int step = 0; step < ranks_ - 1; ++step) {
    const auto out = segment_of(vector, width, at_distance(first - step), ranks_);
    const auto in = segment_of(vector, width, at_distance(first - step - 1), ranks_);
    auto moved = mesh_.exchange(at_distance(1), out, at_distance(-1), in);
    if (!moved) return moved;
  }
  return {};
}

Result<void> Collectives::exchange_and_combine(
    const Job& job, int to, ConstBytes out, int from, Bytes both) {
  while (!out.empty() || !both.empty()) {
    const auto target = take_block(both);
    const auto in = Bytes(incoming_).first(target.size());
    if (auto moved = mesh_.exchange(to, take_block(out), from, in); !moved) return moved;
    job.combine(in.data(), target.data(), target.size() / job.width);
  }
  return {};
}

Result<void> Collectives::exchange_in_place(int to, int from, Bytes vector) {
  while (!vector.empty()) {
    const auto block = take_block(vector);
    const auto in = Bytes(incoming_).first(block.size());
    if (auto moved = mesh_.exchange(to, block, from, in); !moved) return moved;
    copy(in, block);
  }
  return {};
}

Result<void> Collectives::reduce_up(const Job& job, Bytes vector, int root) {
  const int place = at_distance(-root);
  const auto in = Bytes(incoming_).first(vector.size());
  for (int distance = 1; distance < ranks_; distance *= 2) {
    if ((place & distance) != 0) return mesh_.send(at_distance(-distance), vector);
    if (place + distance >= ranks_) continue;
    if (auto come = mesh_.receive(at_distance(distance), in); !come) return come;
    job.combine(in.data(), vector.data(), vector.size() / job.width);
  }
  return {};
}

Result<void> Collectives::broadcast_down(Bytes vector, int root) {
  const int place = at_distance(-root);
  int distance = 1;
  while (distance < ranks_ && (place & distance) == 0) distance *= 2;
  if (place != 0) {
    if (auto come = mesh_.receive(at_distance(-distance), vector); !come) return come;
  }
  for (distance /= 2; distance > 0; distance /= 2) {
    if (place + distance >= ranks_) continue;
    if (auto gone = mesh_.send(at_distance(distance), vector); !gone) return gone;
  }
  return {};
}

// Each rank passes a block on while the next one comes.
Result<void> Collectives::broadcast_along(Bytes vector, int root) {
  const int place = at_distance(-root);
  const bool is_last = place == ranks_ - 1;
  Bytes coming = place == 0 ? Bytes{} : vector;
  Bytes going = place == 0 ? vector : Bytes{};
  while (!coming.empty() || !going.empty()) {
    const auto in = take_block(coming);
    const auto out = place == 0 ? take_block(going) : going;
    auto moved = mesh_.exchange(at_distance(1), out, at_distance(-1), in);
    if (!moved) return moved;
    if (place != 0) going = is_last ? Bytes{} : in;
  }
  return {};
}

Result<void> Collectives::broadcast(const Job& job) {
  if (ranks_ == 1) return {};
  if (job.receive.size() < kShort) return broadcast_down(job.receive, job.operation.root);
  return broadcast_along(job.receive, job.operation.root);
}

// In blocks, so that those of different ranks are on their way at the same time.
Result<void> Collectives::reduce(const Job& job) {
  ConstBytes own = job.send;
  Bytes result = job.receive;
  while (!own.empty()) {
    const auto out = take_block(own);
    const auto sum =
        rank_ == job.operation.root ? take_block(result) : Bytes(outgoing_).first(out.size());
    copy(out, sum);
    if (auto up = reduce_up(job, sum, job.operation.root); !up) return up;
  }
  average(job, job.receive);
  return {};
}

Result<void> Collectives::all_gather(const Job& job) {
  copy(job.send, segment_of(job.receive, job.width, rank_, ranks_));
  return gather_around(job.receive, job.width, 0);
}

Result<void> Collectives::reduce_scatter(const Job& job) {
  const auto part_of = [&](int rank) {
    return job.send.subspan(static_cast<std::size_t>(rank) * job.part, job.part);
  };
  copy(part_of(rank_), job.receive);
  for (int distance = 1; distance < ranks_; ++distance) {
    const int to = at_distance(distance);
    auto moved = exchange_and_combine(job, to, part_of(to), at_distance(-distance), job.receive);
    if (!moved) return moved;
  }
  average(job, job.receive);
  return {};
}

// In each round the ranks are in pairs, so that in place, too, nothing is lost.
Result<void> Collectives::alltoall(const Job& job) {
  for (int round = 0; round < ranks_; ++round) {
    const int peer = (round - rank_ + ranks_) % ranks_;
    const auto at = static_cast<std::size_t>(peer) * job.part;
    const auto out = job.send.subspan(at, job.part);
    const auto in = job.receive.subspan(at, job.part);
    if (peer == rank_) {
      copy(out, in);
      continue;
    }
    auto moved = job.operation.in_place ? exchange_in_place(peer, peer, in)
                                        : mesh_.exchange(peer, out, peer, in);
    if (!moved) return moved;
  }
  return {};
}

Result<void> Collectives::sendrecv(const Job& job) {
  if (ranks_ == 1) {
    copy(job.send, job.receive);
    return {};
  }
  if (job.operation.in_place) {
    return exchange_in_place(at_distance(1), at_distance(-1), job.receive);
  }
  return mesh_.exchange(at_distance(1), job.send, at_distance(-1), job.receive);
}

Result<void> Collectives::gather(const Job& job) {
  const int root = job.operation.root;
  if (rank_ != root) return mesh_.send(root, job.send);
  for (int from = 0; from < ranks_; ++from) {
    const auto in = job.receive.subspan(static_cast<std::size_t>(from) * job.part, job.part);
    if (from == root) {
      copy(job.send, in);
    } else if (auto come = mesh_.receive(from, in); !come) {
      return come;
    }
  }
  return {};
}

Result<void> Collectives::scatter(const Job& job) {
  const int root = job.operation.root;
  if (rank_ != root) return mesh_.receive(root, job.receive);
  for (int to = 0; to < ranks_; ++to) {
    const auto out = job.send.subspan(static_cast<std::size_t>(to) * job.part, job.part);
    if (to == root) {
      copy(out, job.receive);
    } else if (auto gone = mesh_.send(to, out); !gone) {
      return gone;
    }
  }
  return {};
}

}  // namespace muster::bench::tcp
