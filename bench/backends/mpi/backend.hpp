// SPDX-License-Identifier: Apache-2.0
// The MPI back end on host memory.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "bench/backends/backend.hpp"
#include "lib/base/result.hpp"

namespace muster::bench::mpi {

// MPI 3's counts are ints.
inline constexpr std::uint64_t kMaxElements = (std::uint64_t{1} << 31U) - 1;

// MPI must be initialised. The back end frees the communicator. Tests set a smaller `most`, the
// elements of one call.
[[nodiscard]] Result<std::unique_ptr<Backend>> make_backend(MPI_Comm communicator,
                                                            std::uint64_t most = kMaxElements);

// An error for a code other than success: "MPI_Allreduce: MPI_ERR_COUNT: invalid count".
[[nodiscard]] Result<void> check(int code, std::string_view call);

// Shortens the text of MPI_Get_library_version: "Open MPI 4.1.4".
[[nodiscard]] std::string library_name(std::string_view text);

}  // namespace muster::bench::mpi
