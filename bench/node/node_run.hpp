// SPDX-License-Identifier: Apache-2.0
// One run of `muster-bench node`, from the command line to the exit status. Each test runs in a
// process of its own with a deadline: what hangs in a driver costs its own answer.
#pragma once

#include <span>

#include "bench/run/bench_run.hpp"

namespace muster::bench::node {

// `arguments` without "node".
[[nodiscard]] int run(std::span<const char* const> arguments, const RunInput& input);

}  // namespace muster::bench::node
