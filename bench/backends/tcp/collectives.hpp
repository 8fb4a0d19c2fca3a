// SPDX-License-Identifier: Apache-2.0
// The collectives on a mesh of connections. Long vectors go around rings in blocks, short ones up
// and down trees.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "bench/backends/host_arithmetic.hpp"
#include "bench/backends/host_memory.hpp"
#include "bench/backends/tcp/mesh.hpp"
#include "bench/collectives/operation.hpp"

namespace muster::bench::tcp {

// Every rank calls the same of these in the same order.
class Collectives {
 public:
  explicit Collectives(const Mesh& mesh);

  [[nodiscard]] Result<void> run(const Operation& operation, const HostMemory::Buffers& buffers);
  [[nodiscard]] Result<void> barrier();

 private:
  using Bytes = std::span<std::byte>;
  using ConstBytes = std::span<const std::byte>;

  // An operation in bytes.
  struct Job {
    Operation operation;
    std::size_t width = 0;
    std::size_t part = 0;  // one rank's
    ConstBytes send;
    Bytes receive;
    Combine combine = nullptr;
  };

  [[nodiscard]] Result<void> all_reduce(const Job& job);
  [[nodiscard]] Result<void> all_gather(const Job& job);
  [[nodiscard]] Result<void> reduce_scatter(const Job& job);
  [[nodiscard]] Result<void> broadcast(const Job& job);
  [[nodiscard]] Result<void> reduce(const Job& job);
  [[nodiscard]] Result<void> alltoall(const Job& job);
  [[nodiscard]] Result<void> sendrecv(const Job& job);
  [[nodiscard]] Result<void> gather(const Job& job);
  [[nodiscard]] Result<void> scatter(const Job& job);

  [[nodiscard]] Result<void> reduce_around(const Job& job);
  // Every rank has one segment, the one `first` places after its own, and gets all.
  [[nodiscard]] Result<void> gather_around(Bytes vector, std::size_t width, int first);
  // Adds up at `root`, in the vector of every rank, which changes on all of them.
  [[nodiscard]] Result<void> reduce_up(const Job& job, Bytes vector, int root);
  [[nodiscard]] Result<void> broadcast_down(Bytes vector, int root);
  [[nodiscard]] Result<void> broadcast_along(Bytes vector, int root);
  // Sends one vector while another one comes, which is combined with `both`.
  [[nodiscard]] Result<void> exchange_and_combine(
      const Job& job, int to, ConstBytes out, int from, Bytes both);
  // Sends a vector, and puts what comes in its place.
  [[nodiscard]] Result<void> exchange_in_place(int to, int from, Bytes vector);

  [[nodiscard]] int at_distance(int distance) const;
  void average(const Job& job, Bytes sums) const;

  const Mesh& mesh_;
  int rank_, ranks_;
  std::vector<std::byte> incoming_, outgoing_;  // one block each
};

}  // namespace muster::bench::tcp
