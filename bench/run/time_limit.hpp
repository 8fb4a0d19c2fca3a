// SPDX-License-Identifier: Apache-2.0
// A deadline for what the group cannot watch: before it has met, and after it has gone.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

#include "bench/run/emergency.hpp"

namespace muster::bench {

// Ends the process through `emergency`, which must live longer, if this still exists at the
// deadline.
class TimeLimit {
 public:
  // On other ranks than 0 a moment later: rank 0 may be there, and then it reports.
  TimeLimit(Emergency& emergency, int rank, Phase phase, Clock::duration limit);
  TimeLimit(const TimeLimit&) = delete;
  TimeLimit& operator=(const TimeLimit&) = delete;
  ~TimeLimit();

 private:
  void wait();

  Emergency& emergency_;
  int rank_;
  Phase phase_;
  Clock::duration limit_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool over_ = false;
  std::thread thread_;
};

}  // namespace muster::bench
