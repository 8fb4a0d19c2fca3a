// SPDX-License-Identifier: Apache-2.0
// Collectives on host memory over plain TCP: for runs without a GPU and without MPI.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "bench/backends/backend.hpp"
#include "bench/backends/tcp/mesh.hpp"

namespace muster::bench::tcp {

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
