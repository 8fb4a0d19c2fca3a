// SPDX-License-Identifier: Apache-2.0
// What collectives on host memory are made of where ranks have a connection to each other: long
// vectors go around rings in blocks, short ones up and down trees. And reductions of vectors, for
// back ends whose library has none for a type.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "bench/collectives/operation.hpp"
#include "bench/collectives/shares.hpp"
#include "lib/base/result.hpp"

namespace muster::bench {

// Element by element, both = both (+) one. Averages are sums here, to be divided at the end.
using Combine = void (*)(const void* one, void* both, std::uint64_t count);

[[nodiscard]] Combine combine_of(Type type, Reduction reduction);

// Makes averages of sums; of integers, rounded towards zero.
void divide(Type type, void* sums, std::uint64_t count, int ranks);

// An operation in bytes.
struct HostJob {
  Operation operation;
  std::size_t width = 0;  // of an element
  std::size_t part = 0;   // one rank's, where data are in parts
  std::span<const std::byte> send;
  std::span<std::byte> receive;
  Combine combine = nullptr;

  [[nodiscard]] std::span<const std::byte> sent_part(int rank) const {
    return send.subspan(static_cast<std::size_t>(rank) * part, part);
  }

  [[nodiscard]] std::span<const std::byte> sent_parts(Stretch parts) const {
    return send.subspan(parts.first * part, parts.count * part);
  }

  [[nodiscard]] std::span<std::byte> received_parts(Stretch parts) const {
    return receive.subspan(parts.first * part, parts.count * part);
  }

  [[nodiscard]] std::span<std::byte> received_part(int rank) const {
    return receive.subspan(static_cast<std::size_t>(rank) * part, part);
  }
};

// Small enough to stay in a cache between coming and being added, large enough for few calls.
inline constexpr std::size_t kBlockBytes = std::size_t{256} << 10U;

void copy_bytes(std::span<const std::byte> from, std::span<std::byte> to);
// Whether a vector is too short to be worth the steps around a ring.
[[nodiscard]] bool is_short(std::span<const std::byte> vector);

// Takes the next block off the front of `rest`.
template <class Byte>
[[nodiscard]] std::span<Byte> take_block(std::span<Byte>& rest) {
  const auto block = rest.first(std::min(rest.size(), kBlockBytes));
  rest = rest.subspan(block.size());
  return block;
}

// One rank and its connections to all others. Every rank calls the same of these in the same order.
class HostAlgorithms {
 public:
  using Bytes = std::span<std::byte>;
  using ConstBytes = std::span<const std::byte>;

  [[nodiscard]] int rank() const { return rank_; }

  [[nodiscard]] int ranks() const { return ranks_; }

  // The rank so many places after this one.
  [[nodiscard]] int at_distance(int distance) const;

  // Sends and receives at once; either may be empty. Not with this rank itself.
  [[nodiscard]] virtual Result<void> exchange(int to, ConstBytes out, int from, Bytes in) const = 0;

  [[nodiscard]] Result<void> send(int to, ConstBytes bytes) const {
    return exchange(to, bytes, to, {});
  }

  [[nodiscard]] Result<void> receive(int from, Bytes bytes) const {
    return exchange(from, {}, from, bytes);
  }

  [[nodiscard]] Result<void> barrier() const;
  // Sends one vector while another one comes, which is combined with `both`.
  [[nodiscard]] Result<void> exchange_and_combine(const HostJob& job, int to, ConstBytes out,
                                                  int from, Bytes both);
  // Sends a vector, and puts what comes in its place.
  [[nodiscard]] Result<void> exchange_in_place(int to, int from, Bytes vector);
  // The reduction of what is in all ranks' receive buffers, in each of them.
  [[nodiscard]] Result<void> reduce_around(const HostJob& job);
  // Every rank has one segment, the one `first` places after its own, and gets all.
  [[nodiscard]] Result<void> gather_around(Bytes vector, std::size_t width, int first) const;
  // Reduces a vector of each rank, of one block at most, into that of `root`; all may change.
  [[nodiscard]] Result<void> reduce_up(const HostJob& job, Bytes vector, int root);
  [[nodiscard]] Result<void> broadcast_down(Bytes vector, int root) const;
  [[nodiscard]] Result<void> broadcast_along(Bytes vector, int root) const;

  // Makes averages of sums, where the operation asks for them.
  void average(const HostJob& job, Bytes sums) const;
  // This rank's part of a vector that all ranks divide into whole elements, as evenly as possible.
  [[nodiscard]] Bytes own_segment(Bytes vector, std::size_t width) const;

  // Memory for a block that is on its way, of at most so many bytes as take_block() takes.
  [[nodiscard]] Bytes outgoing_block(std::size_t size) { return Bytes(outgoing_).first(size); }

 protected:
  HostAlgorithms(int rank, int ranks);
  HostAlgorithms(HostAlgorithms&&) = default;
  HostAlgorithms& operator=(HostAlgorithms&&) = default;
  ~HostAlgorithms() = default;

 private:
  int rank_, ranks_;
  std::vector<std::byte> incoming_, outgoing_;  // one block each
};

}  // namespace muster::bench
