// SPDX-License-Identifier: Apache-2.0
// Building blocks of collectives, for ranks that are all connected to each other: long vectors go
// around rings in blocks, short ones along trees. Also reduces vectors of types that a library
// lacks.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "bench/collectives/operation.hpp"
#include "lib/base/result.hpp"

namespace muster::bench {

// Combines `one` into `both`, element by element. Averages are sums until divide() is called.
using Combine = void (*)(const void* one, void* both, std::uint64_t count);

[[nodiscard]] Combine combine_of(Type type, Reduction reduction);

// Turns sums into averages; integers are rounded towards zero.
void divide(Type type, void* sums, std::uint64_t count, int ranks);

// An operation on buffers of bytes.
struct HostJob {
  Operation operation;
  std::size_t width = 0;  // of an element
  std::size_t part = 0;   // of one rank, if the data are divided
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

// Small enough to stay in the cache, large enough to need few calls.
inline constexpr std::size_t kBlockBytes = std::size_t{256} << 10U;

void copy_bytes(std::span<const std::byte> from, std::span<std::byte> to);
// Whether a vector is too short for a ring.
[[nodiscard]] bool is_short(std::span<const std::byte> vector);

// Removes the next block from the front of `rest`.
template <class Byte>
[[nodiscard]] std::span<Byte> take_block(std::span<Byte>& rest) {
  const auto block = rest.first(std::min(rest.size(), kBlockBytes));
  rest = rest.subspan(block.size());
  return block;
}

// A rank and its connections to all others. All ranks call the same functions in the same order.
class HostAlgorithms {
 public:
  using Bytes = std::span<std::byte>;
  using ConstBytes = std::span<const std::byte>;

  [[nodiscard]] int rank() const { return rank_; }

  [[nodiscard]] int ranks() const { return ranks_; }

  // The rank this many places after this one, modulo the number of ranks.
  [[nodiscard]] int at_distance(int distance) const;

  // Sends and receives at the same time; either may be empty. Neither peer may be this rank.
  [[nodiscard]] virtual Result<void> exchange(int to, ConstBytes out, int from, Bytes in) const = 0;

  [[nodiscard]] Result<void> send(int to, ConstBytes bytes) const {
    return exchange(to, bytes, to, {});
  }

  [[nodiscard]] Result<void> receive(int from, Bytes bytes) const {
    return exchange(from, {}, from, bytes);
  }

  [[nodiscard]] Result<void> barrier() const;
  // Sends `out` and combines the vector that arrives with `both`.
  [[nodiscard]] Result<void> exchange_and_combine(const HostJob& job, int to, ConstBytes out,
                                                  int from, Bytes both);
  // Sends a vector and replaces it with the one that arrives.
  [[nodiscard]] Result<void> exchange_in_place(int to, int from, Bytes vector);
  // Reduces all ranks' receive buffers into each of them.
  [[nodiscard]] Result<void> reduce_around(const HostJob& job);
  // Each rank starts with the segment `first` places after its own and receives all others.
  [[nodiscard]] Result<void> gather_around(Bytes vector, std::size_t width, int first) const;
  // Reduces one vector per rank, of at most one block, into that of `root`. Overwrites all of them.
  [[nodiscard]] Result<void> reduce_up(const HostJob& job, Bytes vector, int root);
  [[nodiscard]] Result<void> broadcast_down(Bytes vector, int root) const;
  [[nodiscard]] Result<void> broadcast_along(Bytes vector, int root) const;

  // Turns sums into averages if that is the operation's reduction.
  void average(const HostJob& job, Bytes sums) const;
  // This rank's part of a vector that is divided as evenly as possible.
  [[nodiscard]] Bytes own_segment(Bytes vector, std::size_t width) const;

  // Memory for a block of at most kBlockBytes.
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
