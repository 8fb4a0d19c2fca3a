// SPDX-License-Identifier: Apache-2.0
// SIGTERM, SIGINT and SIGHUP end a run with a report, even where the main thread hangs.
#pragma once

#include <functional>
#include <optional>

namespace muster::bench {

struct StopSignal {
  int number = 0;
  std::optional<int> lost;  // the rank whose end is the reason, where a parent says so
};

// From here on these signals are taken by a thread of their own, which calls `stop` with the first.
// Threads that exist already must not take them: called before any other starts.
void on_stop_signal(std::function<void(const StopSignal&)> stop);

}  // namespace muster::bench
