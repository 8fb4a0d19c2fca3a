// SPDX-License-Identifier: Apache-2.0
// SIGTERM, SIGINT and SIGHUP end a run with a report, even where the main thread hangs.
#pragma once

#include <functional>

namespace muster::bench {

// From here on these signals are taken by a thread of their own, which calls `stop` with the number
// of the first. Threads that exist already must not take them: called before any other starts.
void on_stop_signal(std::function<void(int)> stop);

}  // namespace muster::bench
