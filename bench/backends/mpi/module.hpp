// SPDX-License-Identifier: Apache-2.0
// The interface of the module muster_mpi.so. Module and program are built together: the entry's
// name changes with the interface.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "bench/backends/backend.hpp"
#include "lib/base/result.hpp"

namespace muster::bench {

// An MPI job, as one of its processes sees it. Only one thread calls MPI.
class MpiJob {
 public:
  MpiJob() = default;
  MpiJob(const MpiJob&) = delete;
  MpiJob& operator=(const MpiJob&) = delete;
  virtual ~MpiJob() = default;  // does not finish, so that a failure can end without MPI

  [[nodiscard]] virtual int rank() const = 0;
  [[nodiscard]] virtual int size() const = 0;

  // Every rank calls these in the same order. Returns rank 0's text.
  [[nodiscard]] virtual Result<std::string> broadcast(std::string_view text) = 0;
  [[nodiscard]] virtual Result<void> finish() = 0;

  // Makes a back end on host memory, among all ranks or those of this colour. Every rank calls it.
  // Destroy it before finish().
  [[nodiscard]] virtual Result<std::unique_ptr<Backend>> make_backend(
      std::optional<int> colour = {}) = 0;
};

// Initialises MPI. Returns null and sets `why` if that fails.
using StartMpi = MpiJob* (*)(std::string* why);
inline constexpr const char* kMpiEntry = "muster_mpi_start_5";

// These are in the program, which therefore runs without an MPI library.

// MUSTER_MPI_MODULE, or lib/muster/muster_mpi.so next to the program's folder.
[[nodiscard]] std::filesystem::path mpi_module_path();

// Opens the module without starting MPI. The error is `missing` if there is no module or no MPI
// library.
[[nodiscard]] Result<StartMpi> open_mpi_module(const std::filesystem::path& module);

// Opens the module and initialises MPI.
[[nodiscard]] Result<std::unique_ptr<MpiJob>> start_mpi(const std::filesystem::path& module);

}  // namespace muster::bench
