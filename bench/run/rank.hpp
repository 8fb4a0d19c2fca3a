// SPDX-License-Identifier: Apache-2.0
// One rank of a run, from its meeting with the others to the exit status.
#pragma once

#include "bench/launch/local.hpp"
#include "bench/run/bench_run.hpp"

namespace muster::bench {

// `work` as for run().
[[nodiscard]] int run_rank(const BenchCommand& command,
                           const RunInput& input,
                           LocalRank self,
                           const Work& work);

}  // namespace muster::bench
