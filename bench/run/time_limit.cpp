// SPDX-License-Identifier: Apache-2.0
#include "bench/run/time_limit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

namespace muster::bench {
namespace {

constexpr auto kRank0First = std::chrono::seconds(2);

}  // namespace

TimeLimit::TimeLimit(Emergency& emergency, int rank, Phase phase, Clock::duration limit)
    : emergency_(emergency),
      rank_(rank),
      phase_(std::move(phase)),
      limit_(std::min<Clock::duration>(limit, std::chrono::hours(24 * 365))),
      thread_([this] { wait(); }) {}

TimeLimit::~TimeLimit() {
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void TimeLimit::wait() {
  std::unique_lock lock(mutex_);
  const auto wait_for = [&](Clock::duration time) {
    return changed_.wait_for(lock, time, [this] { return over_; });
  };
  if (wait_for(limit_)) return;
  if (rank_ != 0 && wait_for(kRank0First)) return;
  emergency_.end({.kind = Trouble::Kind::late,
                  .phase = phase_,
                  .what = fmt::format("it takes longer than {:.4g} s; {} may not have come to it",
                                      std::chrono::duration<double>(limit_).count(),
                                      rank_ == 0 ? "another rank" : "rank 0, which says nothing,"),
                  .ranks = {},
                  .arrived = {rank_},
                  .without_rank_0 = rank_ != 0});
}

}  // namespace muster::bench
