// SPDX-License-Identifier: Apache-2.0
// How the processes of a run find each other: over MPI where it started them, else at the address
// that the launcher or the user names.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "bench/backends/mpi/module.hpp"
#include "bench/command/bench_command.hpp"
#include "bench/group/group.hpp"
#include "bench/launch/place.hpp"
#include "bench/launch/random.hpp"
#include "lib/base/result.hpp"

namespace muster::bench {

// Initialises MPI where its launcher started this process and its module can be opened. Null where
// the run can do without, and that did not go well; `evidence` is told.
[[nodiscard]] Result<std::unique_ptr<MpiJob>> join_mpi(Place& place, bool needed);

// What MPI says of this process.
struct MpiSizes {
  int rank = 0;
  int size = 1;
};

// Is that what the launcher says? Where it is not and MPI is needed, an error; else `evidence` is
// told.
[[nodiscard]] Result<bool> fits(const MpiSizes& told, Place& place, bool needed);

struct Meeting {
  const BenchCommand* command = nullptr;
  const Place* place = nullptr;
  MpiJob* mpi = nullptr;  // may be null
  std::string secret;     // empty: none
  Descriptor listener;    // where rank 0 has it open already
  std::function<void(std::string_view)> note;
  std::function<void(const Trouble&)> on_trouble;
};

[[nodiscard]] Result<std::unique_ptr<Group>> meet(Meeting meeting);

// The secret that --secret-file or MUSTER_JOB_SECRET holds; empty where there is none.
[[nodiscard]] Result<std::string> job_secret(const BenchCommand& command,
                                             const Variables& variables);

}  // namespace muster::bench
