// SPDX-License-Identifier: Apache-2.0
// Opens the module that knows MPI, so that one program runs where there is an MPI library and where
// there is none.
#pragma once

#include <filesystem>
#include <memory>

#include "bench/backends/mpi/module.hpp"
#include "lib/base/result.hpp"

namespace muster::bench {

// MUSTER_MPI_MODULE where that is set; else lib/muster/muster_mpi.so beside the program's folder.
[[nodiscard]] std::filesystem::path mpi_module_path();

// Opens the module and does not start MPI yet. The error is `missing` where there is no module, or
// where it cannot be opened for want of an MPI library.
[[nodiscard]] Result<StartMpi> open_mpi_module(const std::filesystem::path& module);

// Opens the module and initialises MPI.
[[nodiscard]] Result<std::unique_ptr<MpiJob>> start_mpi(const std::filesystem::path& module);

}  // namespace muster::bench
