// SPDX-License-Identifier: Apache-2.0
// What the command line comes to for one run: which operations, of which sizes, how often.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bench/backends/backend.hpp"
#include "bench/command/bench_command.hpp"
#include "bench/results/row.hpp"
#include "lib/base/result.hpp"
#include "lib/profile/profile.hpp"

namespace muster::bench {

[[nodiscard]] Pace pace_of(const BenchCommand& command);

// The rank with the least memory for buffers.
struct Room {
  int rank = 0;
  std::uint64_t bytes = 0;
};

// The least room of what each rank says it has, in order: a number of bytes, or nothing. Empty
// where none says.
[[nodiscard]] Result<std::optional<Room>> least_room(const std::vector<std::string>& told);

struct Sizes {
  std::vector<std::uint64_t> bytes;
  std::string remark;  // why there are fewer than were to be expected; else empty
};

// The sizes to run. They begin where each rank has an element; sizes that nobody asked for end
// where memory does.
[[nodiscard]] Sizes sizes_of(const BenchCommand& command, const Profile& profile,
                             const RunFacts& facts, const std::optional<Room>& room = {});

// A command for each type with each reduction, the one that is judged first. Collectives that
// reduce nothing have one reduction, and what cannot be verified is left out of several.
[[nodiscard]] std::vector<BenchCommand> variants_of(const BenchCommand& command);

// The placements of the largest size, out of place first; an error where the smallest has no
// element for each rank. A placement that the back end does not have is left out where both were to
// be run, and an error where it was asked for.
[[nodiscard]] Result<std::vector<Operation>> operations_of(const BenchCommand& command,
                                                           const std::vector<std::uint64_t>& sizes,
                                                           const Backend& backend);

}  // namespace muster::bench
