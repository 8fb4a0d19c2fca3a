// SPDX-License-Identifier: Apache-2.0
// Collectives on host memory over TCP connections between every two ranks, for runs without GPUs
// and MPI.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "bench/backends/backend.hpp"
#include "bench/backends/host_backend.hpp"
#include "bench/collectives/number.hpp"
#include "bench/sockets/sockets.hpp"

namespace muster::bench::tcp {

using InBytes = std::span<std::byte>;
using OutBytes = std::span<const std::byte>;

struct Options {
  int rank = 0;
  int ranks = 1;
  std::string token;                           // a secret that all ranks of the job share
  Exchange exchange;                           // for the ranks' addresses; used once
  std::chrono::milliseconds patience{30'000};  // for all connections
};

// A rank and its connections to all others. All ranks call the same functions in the same order.
class Mesh {
 public:
  // Connects every two ranks, and refuses connections without the token.
  [[nodiscard]] static Result<Mesh> connect(const Options& options);

  [[nodiscard]] int rank() const { return rank_; }

  [[nodiscard]] int ranks() const { return static_cast<int>(sockets_.size()); }

  // The number of ranks on this machine, including this one.
  [[nodiscard]] int ranks_here() const { return ranks_here_; }

  // The rank this many places after this one, modulo the number of ranks.
  [[nodiscard]] int at_distance(int distance) const {
    return ((rank_ + distance) % ranks() + ranks()) % ranks();
  }

  // Sends and receives at the same time; either may be empty. Neither peer may be this rank.
  [[nodiscard]] Result<void> exchange(int to, OutBytes out, int from, InBytes in) const;

  [[nodiscard]] Result<void> send(int to, OutBytes bytes) const {
    return exchange(to, bytes, to, {});
  }

  [[nodiscard]] Result<void> receive(int from, InBytes bytes) const {
    return exchange(from, {}, from, bytes);
  }

  [[nodiscard]] Result<void> barrier() const;

  // Memory for a block of at most kBlockBytes.
  [[nodiscard]] InBytes incoming_block(std::size_t size) { return InBytes(incoming_).first(size); }

  [[nodiscard]] InBytes outgoing_block(std::size_t size) { return InBytes(outgoing_).first(size); }

  // Makes all waits for these connections fail, on both ends. Thread-safe.
  void shut_down() const noexcept;

  // Small enough to stay in the cache, large enough to need few calls.
  static constexpr std::size_t kBlockBytes = std::size_t{256} << 10U;

 private:
  Mesh(int rank, int ranks_here, std::vector<Descriptor> sockets)
      : rank_(rank), ranks_here_(ranks_here), sockets_(std::move(sockets)) {}

  int rank_, ranks_here_;
  std::vector<Descriptor> sockets_;  // by rank; none at its own index
  std::vector<std::byte> incoming_ = std::vector<std::byte>(kBlockBytes);
  std::vector<std::byte> outgoing_ = incoming_;
};

// Runs an operation on these buffers.
[[nodiscard]] Result<void> run_operation(Mesh& mesh, const Operation& operation,
                                         const HostMemory::Buffers& buffers);

[[nodiscard]] Result<std::unique_ptr<Backend>> make_backend(const Options& options);

}  // namespace muster::bench::tcp
