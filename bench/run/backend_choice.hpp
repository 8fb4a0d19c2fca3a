// SPDX-License-Identifier: Apache-2.0
// Which back end runs the collectives here, and how it is made.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "bench/backends/backend.hpp"
#include "bench/backends/mpi/module.hpp"
#include "bench/command/bench_command.hpp"
#include "bench/group/group.hpp"
#include "bench/launch/place.hpp"
#include "lib/choice/choice.hpp"

namespace muster::bench {

// Never `automatic`. Nodes that should have GPUs are not measured on their host memory unless that
// was asked for: it would say nothing about what they are for.
[[nodiscard]] Attempt<BackendKind> pick_backend(const BenchCommand& command,
                                                const Place& place,
                                                const Profile& profile,
                                                std::vector<std::string>& evidence);

[[nodiscard]] std::string_view to_string(BackendKind kind);

// What a back end is made of: among all ranks, or among those of a part of them.
struct BackendParts {
  const BenchCommand* command = nullptr;
  BackendKind kind = BackendKind::sim;
  int rank = 0;
  int ranks = 1;
  Exchange exchange;
  std::optional<int> colour = {};  // of a part, for MPI
  MpiJob* mpi = nullptr;
  int local_rank = 0;
  std::string host;
  // Called before the ranks meet in the back end's own library, with how far this one is in it.
  std::function<void(ProgressCounters)> before_meeting;
  // See NcclOptions.
  std::optional<std::chrono::nanoseconds> forming_limit = {};
};

[[nodiscard]] Result<std::unique_ptr<Backend>> make_backend(const BackendParts& parts);

}  // namespace muster::bench
