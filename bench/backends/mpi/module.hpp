// SPDX-License-Identifier: Apache-2.0
// What the module muster_mpi.so offers to the program that opens it. Module and program are built
// together: the entry's name changes with everything below.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "bench/backends/backend.hpp"
#include "lib/base/result.hpp"

namespace muster::bench {

// All processes of one MPI job, as one of them sees them. MPI is called by one thread.
class MpiJob {
 public:
  MpiJob() = default;
  MpiJob(const MpiJob&) = delete;
  MpiJob& operator=(const MpiJob&) = delete;
  virtual ~MpiJob() = default;  // does not finish: what failed must be able to end without MPI

  [[nodiscard]] virtual int rank() const = 0;
  [[nodiscard]] virtual int size() const = 0;
  [[nodiscard]] virtual std::string library() const = 0;  // "Open MPI 4.1.4"

  // Every rank calls these, in the same order. Everybody gets rank 0's text.
  [[nodiscard]] virtual Result<std::string> broadcast(std::string_view text) = 0;
  [[nodiscard]] virtual Result<void> finish() = 0;

  // Makes a back end on host memory, among all ranks or among those of this colour. Every rank
  // calls it. It must be gone before `finish`.
  [[nodiscard]] virtual Result<std::unique_ptr<Backend>> make_backend(
      std::optional<int> colour = {}) = 0;
};

// Initialises MPI. Null where that failed, and `why` says why.
using StartMpi = MpiJob* (*)(std::string* why);
inline constexpr const char* kMpiEntry = "muster_mpi_start_4";

// What follows is in the program, which thus runs with an MPI library and without one.

// MUSTER_MPI_MODULE where that is set; else lib/muster/muster_mpi.so beside the program's folder.
[[nodiscard]] std::filesystem::path mpi_module_path();

// Opens the module and does not start MPI yet. The error is `missing` where there is no module, or
// where it cannot be opened for want of an MPI library.
[[nodiscard]] Result<StartMpi> open_mpi_module(const std::filesystem::path& module);

// Opens the module and initialises MPI.
[[nodiscard]] Result<std::unique_ptr<MpiJob>> start_mpi(const std::filesystem::path& module);

}  // namespace muster::bench
