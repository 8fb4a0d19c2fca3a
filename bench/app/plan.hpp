// SPDX-License-Identifier: Apache-2.0
// What the command line comes to for one run: which operations, of which sizes, how often.
#pragma once

#include <cstdint>
#include <vector>

#include "bench/app/bench_command.hpp"
#include "bench/backends/backend.hpp"
#include "lib/base/result.hpp"
#include "lib/profile/profile.hpp"

namespace muster::bench {

[[nodiscard]] Pace pace_of(const BenchCommand& command);

// The sizes to run on so many nodes, with the data in GPU memory or not.
[[nodiscard]] std::vector<std::uint64_t> sizes_of(const BenchCommand& command,
                                                  const Profile& profile,
                                                  int nodes,
                                                  bool gpus);

// The placements of one size, out of place first. One that the back end does not have is left out
// where both were to be run, and an error where it was asked for.
[[nodiscard]] Result<std::vector<Operation>> operations_of(const BenchCommand& command,
                                                           std::uint64_t size,
                                                           const Backend& backend);

}  // namespace muster::bench
