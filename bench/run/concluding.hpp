// SPDX-License-Identifier: Apache-2.0
// How a rank's run ends: all parts are taken down, or the run is given up, or a signal ends it.
#pragma once

#include <memory>

#include "bench/backends/backend.hpp"
#include "bench/run/meeting.hpp"
#include "bench/run/rank_context.hpp"
#include "bench/run/split_measuring.hpp"

namespace muster::bench {

// What a rank has by now.
struct Parts {
  Membership membership;
  std::unique_ptr<Backend> backend;
  std::vector<RankPart> split;  // of --split
  std::vector<OwnPart> own{};   // and their back ends here
};

// Starts a thread that takes SIGTERM, SIGINT and SIGHUP, and ends this process with a report even
// where the main thread hangs. Threads that exist already must not take them: to be called before
// any other starts.
void end_on_signals(RankContext& self);

// Tells everybody that this rank cannot go on, once there is somebody to tell; rank 0's report is
// the run's. Returns the exit status. The parts are left alone: taking down what failed might hang.
[[nodiscard]] int give_up(RankContext& self, Parts& parts, const Error& error);

// Takes everything down after the report.
void leave(RankContext& self, Parts& parts);

}  // namespace muster::bench
