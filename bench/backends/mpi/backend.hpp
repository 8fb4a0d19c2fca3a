// SPDX-License-Identifier: Apache-2.0
// Collectives of MPI on host memory, and what MPI's codes and texts mean.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "bench/backends/backend.hpp"
#include "bench/backends/mpi/calls.hpp"
#include "lib/base/result.hpp"

namespace muster::bench::mpi {

// MPI must be running. The back end frees the communicator. `most`: elements that one call may
// have; smaller only in tests.
[[nodiscard]] Result<std::unique_ptr<Backend>> make_backend(std::string library,
                                                            MPI_Comm communicator,
                                                            std::uint64_t most = kMostElements);

// An error unless the code is that of success: "MPI_Allreduce: MPI_ERR_COUNT: invalid count".
[[nodiscard]] Result<void> check(int code, std::string_view call);

// The name and version in what MPI_Get_library_version says: "Open MPI 4.1.4".
[[nodiscard]] std::string library_name(std::string_view text);

}  // namespace muster::bench::mpi
