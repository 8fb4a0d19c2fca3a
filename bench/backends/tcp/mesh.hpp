// SPDX-License-Identifier: Apache-2.0
// A connection between every two ranks of a job, and nobody else; and collectives on host memory
// over these: for runs without a GPU and without MPI.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bench/backends/backend.hpp"
#include "bench/backends/tcp/connection.hpp"
#include "bench/collectives/host_algorithms.hpp"

namespace muster::bench::tcp {

struct Options {
  int rank = 0;
  int ranks = 1;
  std::string token;  // the same on all ranks of the job, at most 64 bytes; nobody else knows it
  Exchange exchange;  // how the ranks tell each other their addresses; used once
  std::chrono::milliseconds patience{30'000};  // for all connections
};

class Mesh final : public HostAlgorithms {
 public:
  // Connects every two ranks. Who connects and does not know the token is turned away.
  [[nodiscard]] static Result<Mesh> connect(const Options& options);

  // How many ranks are on this machine, this one among them.
  [[nodiscard]] int ranks_here() const { return ranks_here_; }

  [[nodiscard]] Result<void> exchange(int to, ConstBytes out, int from, Bytes in) const override;

  // Lets whoever waits for one of these connections get an error, on both ends; any thread may call
  // it.
  void shut_down() const noexcept;

 private:
  Mesh(int rank, int ranks_here, std::vector<Descriptor> sockets)
      : HostAlgorithms(rank, static_cast<int>(sockets.size())),
        ranks_here_(ranks_here),
        sockets_(std::move(sockets)) {}

  int ranks_here_;
  std::vector<Descriptor> sockets_;  // by rank; none at its own place
};

// Over a mesh of these ranks.
[[nodiscard]] Result<std::unique_ptr<Backend>> make_backend(const Options& options);

}  // namespace muster::bench::tcp
