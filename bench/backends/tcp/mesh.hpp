// SPDX-License-Identifier: Apache-2.0
// Collectives on host memory over TCP connections between every two ranks, for runs without GPUs
// and MPI.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bench/backends/backend.hpp"
#include "bench/collectives/host_algorithms.hpp"
#include "bench/sockets/sockets.hpp"

namespace muster::bench::tcp {

struct Options {
  int rank = 0;
  int ranks = 1;
  std::string token;                           // a secret that all ranks of the job share
  Exchange exchange;                           // for the ranks' addresses; used once
  std::chrono::milliseconds patience{30'000};  // for all connections
};

class Mesh final : public HostAlgorithms {
 public:
  // Connects every two ranks, and refuses connections without the token.
  [[nodiscard]] static Result<Mesh> connect(const Options& options);

  // The number of ranks on this machine, including this one.
  [[nodiscard]] int ranks_here() const { return ranks_here_; }

  [[nodiscard]] Result<void> exchange(int to, ConstBytes out, int from, Bytes in) const override;

  // Makes all waits for these connections fail, on both ends. Thread-safe.
  void shut_down() const noexcept;

 private:
  Mesh(int rank, int ranks_here, std::vector<Descriptor> sockets)
      : HostAlgorithms(rank, static_cast<int>(sockets.size())),
        ranks_here_(ranks_here),
        sockets_(std::move(sockets)) {}

  int ranks_here_;
  std::vector<Descriptor> sockets_;  // by rank; none at its own index
};

[[nodiscard]] Result<std::unique_ptr<Backend>> make_backend(const Options& options);

}  // namespace muster::bench::tcp
