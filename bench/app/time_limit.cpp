// SPDX-License-Identifier: Apache-2.0
#include "bench/app/time_limit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

namespace muster::bench {

TimeLimit::TimeLimit(Emergency& emergency, std::string phase, Clock::duration limit)
    : emergency_(emergency),
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
  if (changed_.wait_for(lock, limit_, [this] { return over_; })) return;
  emergency_.end(
      {.kind = Trouble::Kind::late,
       .phase = phase_,
       .what = fmt::format("it takes longer than {:.4g} s; another rank may not have come to it",
                           std::chrono::duration<double>(limit_).count())});
}

}  // namespace muster::bench
