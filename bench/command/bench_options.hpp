// SPDX-License-Identifier: Apache-2.0
// The one table of options: parsing, --help and the man page's test read it.
#pragma once

#include <span>

#include "bench/command/bench_command.hpp"
#include "lib/command/options.hpp"

namespace muster::bench {

[[nodiscard]] std::span<const Option<BenchCommand>> options();
// Those among them that any run of a job has: what runs it, among whom, by which profile it is
// judged, and how that is told.
[[nodiscard]] std::span<const Option<BenchCommand>> job_options();

}  // namespace muster::bench
