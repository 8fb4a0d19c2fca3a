// SPDX-License-Identifier: Apache-2.0
// A rank's back end: its kind, and how it is made among all ranks or among those of a part.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/backends/backend.hpp"
#include "bench/command/bench_command.hpp"
#include "bench/launch/place.hpp"
#include "bench/run/rank_context.hpp"
#include "lib/choice/choice.hpp"

namespace muster::bench {

// Never returns `automatic`. On nodes that should have GPUs, host memory is measured only if asked
// for.
[[nodiscard]] Attempt<BackendKind> pick_backend(const BenchCommand& command, const Place& place,
                                                const Profile& profile,
                                                std::vector<std::string>& evidence);

[[nodiscard]] std::string_view to_string(BackendKind kind);

// Every rank must call the functions below in the same order.

[[nodiscard]] Result<std::unique_ptr<Backend>> make_whole_backend(RankContext& self);

// Makes the back end of the part that this rank is in. With a limit, an NCCL communicator that does
// not form in that time makes its operations fail, and the other parts continue.
[[nodiscard]] Result<std::unique_ptr<Backend>> make_part_backend(
    RankContext& self, const std::vector<RankPart>& parts,
    std::optional<std::chrono::nanoseconds> forming_limit = {});

// Sends the back end's members to rank 0. Those of a lost rank stay unknown.
[[nodiscard]] Result<void> introduce(RankContext& self, const Backend& backend);

}  // namespace muster::bench
