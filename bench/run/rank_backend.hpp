// SPDX-License-Identifier: Apache-2.0
// A rank's back end: its kind, and how it is made among all ranks or among those of a part of
// --split.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/backends/backend.hpp"
#include "bench/command/bench_command.hpp"
#include "bench/group/group.hpp"
#include "bench/launch/place.hpp"
#include "bench/run/rank_context.hpp"
#include "lib/base/result.hpp"
#include "lib/profile/choice.hpp"

namespace muster::bench {

// Divides the ranks into parts, each rank in one. `hosts`: the nodes' names. An error if that makes
// a single part, or parts of one rank.
[[nodiscard]] Result<std::vector<RankPart>> parts_of(const Split& split,
                                                     const std::vector<RankPlace>& places,
                                                     const std::vector<std::string>& hosts);

// Like parts_of, for the ranks of this run. All ranks compute the same parts.
[[nodiscard]] Result<std::vector<RankPart>> split_ranks(const RankContext& self);

// Returns the index of the part that a rank is in.
[[nodiscard]] std::size_t part_with(const std::vector<RankPart>& parts, int rank);

// An exchange among the ranks of this rank's part. All ranks of the group must call its functions
// in the same order. Both arguments must outlive it.
[[nodiscard]] Exchange exchange_within(Group& group, const std::vector<RankPart>& parts);

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

// Returns the members that a rank other than 0 knows, which reports if rank 0 is lost: the first,
// and the hosts of the others.
[[nodiscard]] std::vector<Member> members_known_from(const Agreement& agreed, Member first);

// Sends the back end's members to rank 0, and rank 0's to all. Those of a lost rank stay unknown.
[[nodiscard]] Result<void> introduce(RankContext& self, const Backend& backend);

}  // namespace muster::bench
