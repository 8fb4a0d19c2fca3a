// SPDX-License-Identifier: Apache-2.0
// One run of `muster-bench`, from the environment to the exit status: this process is one of its
// ranks, or starts those of this node.
#pragma once

#include <chrono>

#include "bench/command/bench_command.hpp"
#include "bench/launch/place.hpp"
#include "lib/command/output.hpp"

namespace muster::bench {

// What a run gets from the outside.
struct World {
  Console console;
  Variables variables;  // the environment
  std::string asked;    // what all processes of the run were told alike, in words
  std::chrono::steady_clock::time_point started;
};

[[nodiscard]] int run(const BenchCommand& command, const World& world);

}  // namespace muster::bench
