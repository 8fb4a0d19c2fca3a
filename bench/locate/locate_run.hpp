// SPDX-License-Identifier: Apache-2.0
// One run of `muster-bench locate`, from the command line to the exit status.
#pragma once

#include <span>

#include "bench/run/bench_run.hpp"

namespace muster::bench::locate {

// `arguments` without "locate".
[[nodiscard]] int run(std::span<const char* const> arguments, const RunInput& input);

}  // namespace muster::bench::locate
