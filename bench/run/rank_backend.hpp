// SPDX-License-Identifier: Apache-2.0
// A rank's back end: which one it is, and how it is made among all ranks that have met or among
// those of its part.
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
#include "bench/run/meeting.hpp"
#include "bench/run/rank_context.hpp"
#include "bench/run/split.hpp"
#include "lib/choice/choice.hpp"

namespace muster::bench {

// Never `automatic`. Nodes that should have GPUs are not measured on their host memory unless that
// was asked for: it would say nothing about what they are for.
[[nodiscard]] Attempt<BackendKind> pick_backend(const BenchCommand& command, const Place& place,
                                                const Profile& profile,
                                                std::vector<std::string>& evidence);

[[nodiscard]] std::string_view to_string(BackendKind kind);

// Every rank calls the same of these in the same order.

[[nodiscard]] Result<std::unique_ptr<Backend>> make_whole_backend(RankContext& self,
                                                                  Membership& membership);

// The back end of the part that this rank is in. With a limit, a communicator of NCCL that does not
// form in that time is an error of its operations, and the other parts go on.
[[nodiscard]] Result<std::unique_ptr<Backend>> make_part_backend(
    RankContext& self, Membership& membership, const std::vector<RankPart>& parts,
    std::optional<std::chrono::nanoseconds> forming_limit = {});

// Tells rank 0 who all ranks are, by whatever back end they have. Of one that is lost it stays
// unknown.
[[nodiscard]] Result<void> introduce(RankContext& self, Membership& membership,
                                     const Backend& backend);

}  // namespace muster::bench
