// SPDX-License-Identifier: Apache-2.0
// A deadline for what the group cannot watch: before it has met, and after it has gone.
#pragma once

#include <thread>

#include "bench/run/emergency.hpp"

namespace muster::bench {

// Ends the process through `emergency`, which must live longer, if this still exists at the
// deadline.
class TimeLimit {
 public:
  // On other ranks than 0 a moment later: rank 0 may be there, and then it reports.
  TimeLimit(Emergency& emergency, int rank, Phase phase, Clock::duration limit);

 private:
  std::jthread thread_;
};

}  // namespace muster::bench
