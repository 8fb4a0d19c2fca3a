// SPDX-License-Identifier: Apache-2.0
// A connection between every two ranks of a job, and nobody else; and collectives on host memory
// over these: for runs without a GPU and without MPI.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bench/backends/backend.hpp"
#include "bench/backends/tcp/connection.hpp"
#include "bench/collectives/host_algorithms.hpp"

namespace muster::bench::tcp {

class Mesh final : public HostAlgorithms {
 public:
  // `token` is known to the job's ranks only; who connects and does not know it is turned away.
  [[nodiscard]] static Result<Mesh> connect(int rank,
                                            int ranks,
                                            std::string_view token,
                                            const Exchange& exchange,
                                            std::chrono::milliseconds patience);

  // On this machine, this rank among them.
  [[nodiscard]] int ranks_here() const { return ranks_here_; }

  [[nodiscard]] Result<void> exchange(int to, ConstBytes out, int from, Bytes in) const override;

  // From any thread: whoever waits for one of these connections gets an error, on both ends.
  void shut_down() const noexcept;

 private:
  Mesh(int rank, int ranks_here, std::vector<Descriptor> sockets)
      : HostAlgorithms(rank, static_cast<int>(sockets.size())),
        ranks_here_(ranks_here),
        sockets_(std::move(sockets)) {}

  int ranks_here_;
  std::vector<Descriptor> sockets_;  // by rank; none at its own place
};

struct Options {
  int rank = 0;
  int ranks = 1;
  std::string token;  // the same on all ranks of the job, at most 64 bytes; nobody else knows it
  Exchange exchange;  // how the ranks tell each other their addresses; used once
  std::chrono::milliseconds patience{30'000};  // for all connections
};

// Connects every two ranks.
[[nodiscard]] Result<std::unique_ptr<Backend>> make_backend(const Options& options);

}  // namespace muster::bench::tcp
