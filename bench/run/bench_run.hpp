// SPDX-License-Identifier: Apache-2.0
// One run of `muster-bench`, from the environment to the exit status: this process is one of its
// ranks, or starts those of this node.
#pragma once

#include <functional>

#include "bench/command/bench_command.hpp"
#include "bench/launch/place.hpp"
#include "lib/base/result.hpp"
#include "lib/command/output.hpp"

namespace muster::bench {

// What a run gets from its process.
struct RunInput {
  Console console;
  Variables variables;  // the environment
  std::string asked;    // the command line, less what each process has of its own
};

struct RankContext;
struct Parts;

// What the ranks do once they have met: the exit status of all of them, or what kept this one from
// going on.
using Work = std::function<Result<int>(RankContext& self, Parts& parts)>;

// Without `work`, the collective that the command names is measured and judged.
[[nodiscard]] int run(const BenchCommand& command, const RunInput& input, const Work& work = {});

}  // namespace muster::bench
