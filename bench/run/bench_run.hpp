// SPDX-License-Identifier: Apache-2.0
// One run of `muster-bench`, from the environment to the exit status: this process is one of its
// ranks, or starts those of this node.
#pragma once

#include "bench/command/bench_command.hpp"
#include "bench/launch/place.hpp"
#include "lib/command/output.hpp"

namespace muster::bench {

// What a run gets from its process.
struct RunInput {
  Console console;
  Variables variables;  // the environment
  std::string asked;    // the command line, less what each process has of its own
};

[[nodiscard]] int run(const BenchCommand& command, const RunInput& input);

}  // namespace muster::bench
