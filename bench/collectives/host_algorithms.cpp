// SPDX-License-Identifier: Apache-2.0
#include "bench/collectives/host_algorithms.hpp"

#include <algorithm>
#include <array>
#include <cstring>

namespace muster::bench {
namespace {

constexpr std::size_t kShort = std::size_t{64} << 10U;

// One rank's elements, divided as evenly as possible.
std::span<std::byte> segment_of(std::span<std::byte> vector, std::size_t width, int rank,
                                int ranks) {
  const auto elements = vector.size() / width;
  const auto n = static_cast<std::size_t>(ranks);
  const auto i = static_cast<std::size_t>(rank);
  const auto begin = elements / n * i + std::min(elements % n, i);
  const auto length = elements / n + (i < elements % n ? 1 : 0);
  return vector.subspan(begin * width, length * width);
}

}  // namespace

void copy_bytes(std::span<const std::byte> from, std::span<std::byte> to) {
  if (!from.empty() && from.data() != to.data()) std::memcpy(to.data(), from.data(), from.size());
}

bool is_short(std::span<const std::byte> vector) { return vector.size() < kShort; }

HostAlgorithms::HostAlgorithms(int rank, int ranks)
    : rank_(rank), ranks_(ranks), incoming_(kBlockBytes), outgoing_(kBlockBytes) {}

int HostAlgorithms::at_distance(int distance) const {
  return ((rank_ + distance) % ranks_ + ranks_) % ranks_;
}

void HostAlgorithms::average(const HostJob& job, Bytes sums) const {
  if (job.operation.reduction != Reduction::avg) return;
  divide(job.operation.type, sums.data(), sums.size() / job.width, ranks_);
}

HostAlgorithms::Bytes HostAlgorithms::own_segment(Bytes vector, std::size_t width) const {
  return segment_of(vector, width, rank_, ranks_);
}

Result<void> HostAlgorithms::barrier() const {
  const std::array<std::byte, 1> out{};
  std::array<std::byte, 1> in{};
  for (int distance = 1; distance < ranks_; distance *= 2) {
    TRY(exchange(at_distance(distance), out, at_distance(-distance), in));
  }
  return {};
}

Result<void> HostAlgorithms::reduce_around(const HostJob& job) {
  const auto segment = [&](int distance) {
    return segment_of(job.receive, job.width, at_distance(distance), ranks_);
  };
  for (int step = 0; step < ranks_ - 1; ++step) {
    TRY(exchange_and_combine(job, at_distance(1), segment(-step), at_distance(-1),
                             segment(-step - 1)));
  }
  average(job, segment(1));
  return gather_around(job.receive, job.width, 1);
}

Result<void> HostAlgorithms::gather_around(Bytes vector, std::size_t width, int first) const {
  for (int step = 0; step < ranks_ - 1; ++step) {
    const auto out = segment_of(vector, width, at_distance(first - step), ranks_);
    const auto in = segment_of(vector, width, at_distance(first - step - 1), ranks_);
    TRY(exchange(at_distance(1), out, at_distance(-1), in));
  }
  return {};
}

Result<void> HostAlgorithms::exchange_and_combine(const HostJob& job, int to, ConstBytes out,
                                                  int from, Bytes both) {
  while (!out.empty() || !both.empty()) {
    const auto target = take_block(both);
    const auto in = Bytes(incoming_).first(target.size());
    TRY(exchange(to, take_block(out), from, in));
    job.combine(in.data(), target.data(), target.size() / job.width);
  }
  return {};
}

Result<void> HostAlgorithms::exchange_in_place(int to, int from, Bytes vector) {
  while (!vector.empty()) {
    const auto block = take_block(vector);
    const auto in = Bytes(incoming_).first(block.size());
    TRY(exchange(to, block, from, in));
    copy_bytes(in, block);
  }
  return {};
}

Result<void> HostAlgorithms::reduce_up(const HostJob& job, Bytes vector, int root) {
  const int place = at_distance(-root);
  const auto in = Bytes(incoming_).first(vector.size());
  for (int distance = 1; distance < ranks_; distance *= 2) {
    if ((place & distance) != 0) return send(at_distance(-distance), vector);
    if (place + distance >= ranks_) continue;
    TRY(receive(at_distance(distance), in));
    job.combine(in.data(), vector.data(), vector.size() / job.width);
  }
  return {};
}

Result<void> HostAlgorithms::broadcast_down(Bytes vector, int root) const {
  const int place = at_distance(-root);
  int distance = 1;
  while (distance < ranks_ && (place & distance) == 0) distance *= 2;
  if (place != 0) {
    TRY(receive(at_distance(-distance), vector));
  }
  for (distance /= 2; distance > 0; distance /= 2) {
    if (place + distance >= ranks_) continue;
    TRY(send(at_distance(distance), vector));
  }
  return {};
}

// Each rank forwards a block while it receives the next one.
Result<void> HostAlgorithms::broadcast_along(Bytes vector, int root) const {
  const int place = at_distance(-root);
  const bool is_last = place == ranks_ - 1;
  Bytes coming = place == 0 ? Bytes{} : vector;
  Bytes going = place == 0 ? vector : Bytes{};
  while (!coming.empty() || !going.empty()) {
    const auto in = take_block(coming);
    const auto out = place == 0 ? take_block(going) : going;
    TRY(exchange(at_distance(1), out, at_distance(-1), in));
    if (place != 0) going = is_last ? Bytes{} : in;
  }
  return {};
}

}  // namespace muster::bench
