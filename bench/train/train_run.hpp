// SPDX-License-Identifier: Apache-2.0
// `muster-bench train_step`: training steps over the ranks of a job.
#pragma once

#include <span>

#include "bench/run/bench_run.hpp"

namespace muster::bench::train {

// The exit status.
[[nodiscard]] int run(std::span<const char* const> arguments, const RunInput& input);

}  // namespace muster::bench::train
