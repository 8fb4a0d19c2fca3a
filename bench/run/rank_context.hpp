// SPDX-License-Identifier: Apache-2.0
// What all parts of a rank's run share: who this rank is, what it was asked for, and through whom
// it reports.
#pragma once

#include <fmt/format.h>

#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include "bench/run/bench_run.hpp"
#include "bench/run/emergency.hpp"
#include "bench/run/reporter.hpp"
#include "lib/base/host_name.hpp"

namespace muster::bench {

// The phase that this process is in; any thread may ask for it.
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

struct RankContext {
  // Both references must live longer.
  RankContext(const BenchCommand& asked, const RunInput& from_outside, Place own_place)
      : command(asked),
        input(from_outside),
        variables(from_outside.variables),
        place(std::move(own_place)),
        emergency(place.rank),
        reporter(command, input.console, emergency) {}

  [[nodiscard]] bool leads() const { return place.rank == 0; }

  // Writes a line to standard error, with the program's name.
  void say(std::string_view line) const { input.say(line); }

  // "rank 3 on gpu-0007: ", to begin a line that several ranks may write; empty on rank 0.
  [[nodiscard]] std::string prefix() const {
    return leads() ? std::string() : fmt::format("{}: ", name());
  }

  // "rank 3 on gpu-0007".
  [[nodiscard]] std::string name() const {
    return fmt::format("rank {} on {}", place.rank, host_name());
  }

  // Says that this process is in that phase from here on, and must enter the next one within
  // `limit`.
  void enter(Group& group, const Phase& phase_to_enter, Clock::duration limit,
             ProgressCounters counters = {}) {
    phase.set(phase_to_enter);
    group.enter(phase_to_enter, limit, std::move(counters));
  }

  const BenchCommand& command;
  const RunInput& input;
  Variables variables;
  Place place;
  BackendKind kind = BackendKind::sim;
  Settings settings;  // of the profile, as they were taken
  Emergency emergency;
  Reporter reporter;
  CurrentPhase phase;
};

}  // namespace muster::bench
