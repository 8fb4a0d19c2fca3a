// SPDX-License-Identifier: Apache-2.0
// What the module muster_mpi.so offers to the program that opens it. Module and program are built
// together: the entry's name changes with everything below.
#pragma once

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
  MpiJob(MpiJob&&) = delete;
  MpiJob& operator=(const MpiJob&) = delete;
  MpiJob& operator=(MpiJob&&) = delete;
  virtual ~MpiJob() = default;  // does not finish: what failed must be able to end without MPI

  [[nodiscard]] virtual int rank() const = 0;
  [[nodiscard]] virtual int size() const = 0;
  [[nodiscard]] virtual std::string library() const = 0;  // "Open MPI 4.1.4"

  // Every rank calls these, in the same order. Everybody gets rank 0's text.
  [[nodiscard]] virtual Result<std::string> broadcast(std::string_view text) = 0;
  [[nodiscard]] virtual Result<void> finish() = 0;

  // On host memory, among all ranks, or among those of this colour. Every rank calls it. It must be
  // gone before `finish`.
  [[nodiscard]] virtual Result<std::unique_ptr<Backend>> make_backend(
      std::optional<int> colour = {}) = 0;
};

// Initialises MPI. Null where that failed, and `why` says why.
using StartMpi = MpiJob* (*)(std::string* why);
inline constexpr const char* kMpiEntry = "muster_mpi_start_4";

}  // namespace muster::bench
