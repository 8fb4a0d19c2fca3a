// SPDX-License-Identifier: Apache-2.0
// A deadline outside the group's own.
#pragma once

#include <thread>

#include "bench/group/group.hpp"
#include "bench/run/emergency.hpp"
#include "lib/base/clock.hpp"

namespace muster::bench {

// A deadline for what the group cannot watch: before it has met, and after it has gone. Ends the
// process through `emergency`, which must live longer, if this still exists at the deadline.
class TimeLimit {
 public:
  // Other ranks than 0 end a moment later: rank 0 may be there, and then it reports.
  TimeLimit(Emergency& emergency, int rank, Phase phase, Clock::duration limit);

 private:
  std::jthread thread_;
};

}  // namespace muster::bench
