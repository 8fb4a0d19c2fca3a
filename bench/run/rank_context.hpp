// SPDX-License-Identifier: Apache-2.0
// The state of one rank during a run: who it is, what was asked, and how it reports.
#pragma once

#include <fmt/format.h>

#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bench/backends/mpi/module.hpp"
#include "bench/model/cluster.hpp"
#include "bench/run/bench_run.hpp"
#include "bench/run/meeting.hpp"
#include "bench/run/reporting.hpp"
#include "bench/run/watching.hpp"
#include "lib/base/host_name.hpp"

namespace muster::bench {

// The phase that this process is in. Thread-safe.
class CurrentPhase {
 public:
  void set(Phase phase) {
    const std::lock_guard lock(mutex_);
    phase_ = std::move(phase);
  }

  [[nodiscard]] Phase get() const {
    const std::lock_guard lock(mutex_);
    return phase_;
  }

 private:
  mutable std::mutex mutex_;
  Phase phase_{"start", Part::starting};
};

// A rank's connections to the others, once they have met.
struct Membership {
  std::unique_ptr<MpiJob> mpi;  // may be null
  std::unique_ptr<Group> group;
  int local_rank = 0;  // among the ranks of this node
  Agreement agreed;
};

// The back end of one part of --split.
struct PartBackend {
  std::size_t part = 0;
  std::unique_ptr<Backend> backend;
};

struct RankContext {
  // Both references must outlive this object.
  RankContext(const BenchCommand& asked, const RunInput& from_outside, Place own_place)
      : command(asked),
        input(from_outside),
        variables(from_outside.variables),
        place(std::move(own_place)),
        emergency(place.rank),
        reporter(command, input.console, emergency) {}

  [[nodiscard]] bool leads() const { return place.rank == 0; }
  // Prints a line to standard error, with the program's name.
  void say(std::string_view line) const { input.say(line); }
  // "rank 3 on gpu-0007"
  [[nodiscard]] std::string name() const {
    return fmt::format("rank {} on {}", place.rank, host_name());
  }

  // "rank 3 on gpu-0007: ", the beginning of a line that several ranks may print; empty on rank 0.
  [[nodiscard]] std::string prefix() const {
    return leads() ? std::string() : fmt::format("{}: ", name());
  }

  // Enters a phase; the next one must be entered within `limit`.
  void enter(const Phase& next, Clock::duration limit, ProgressCounters counters = {}) {
    phase.set(next);
    membership.group->enter(next, limit, std::move(counters));
  }

  const BenchCommand& command;
  const RunInput& input;
  Variables variables;
  Place place;
  BackendKind kind = BackendKind::sim;
  Settings settings;   // of the profile, as applied
  SimCluster cluster;  // of --sim
  std::string domain;  // the NVLink domain of this node's GPUs; empty for none
  Emergency emergency;
  Reporter reporter;
  CurrentPhase phase;
  Membership membership;
  std::unique_ptr<Backend> backend;        // null with --split, except for the simulated cluster
  std::vector<RankPart> parts;             // of --split
  std::vector<PartBackend> part_backends;  // the parts that this process runs
};

}  // namespace muster::bench
