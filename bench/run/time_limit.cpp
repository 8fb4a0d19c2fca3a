// SPDX-License-Identifier: Apache-2.0
#include "bench/run/time_limit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

namespace muster::bench {
namespace {

constexpr auto kRank0First = std::chrono::seconds(2);
constexpr Clock::duration kLongestLimit = std::chrono::hours(24 * 365);

}  // namespace

TimeLimit::TimeLimit(Emergency& emergency, int rank, Phase phase, Clock::duration limit)
    : thread_([&emergency, rank, phase = std::move(phase),
               limit = std::min(limit, kLongestLimit)](const std::stop_token& stop) {
        if (!sleep_for(stop, limit)) return;
        if (rank != 0 && !sleep_for(stop, kRank0First)) return;
        emergency.end(
            {.kind = Trouble::Kind::late,
             .phase = phase,
             .what = fmt::format("it takes longer than {:.4g} s; {} may not have come to it",
                                 std::chrono::duration<double>(limit).count(),
                                 rank == 0 ? "another rank" : "rank 0, which says nothing,"),
             .ranks = {},
             .arrived = {rank},
             .without_rank_0 = rank != 0});
      }) {}

}  // namespace muster::bench
