// SPDX-License-Identifier: Apache-2.0
// Collectives of MPI on host memory.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <memory>
#include <string>

#include "bench/backends/backend.hpp"
#include "bench/backends/mpi/calls.hpp"

namespace muster::bench::mpi {

// MPI is running. The back end frees the communicator. `most`: elements that one call may have;
// smaller only in tests.
[[nodiscard]] Result<std::unique_ptr<Backend>> make_backend(std::string library,
                                                            MPI_Comm communicator,
                                                            std::uint64_t most = kMostElements);

}  // namespace muster::bench::mpi
