// SPDX-License-Identifier: Apache-2.0
// Processes that a job left behind are ended.
#pragma once

#include <vector>

#include "lib/base/clock.hpp"

namespace muster::app {

// Kills `pids` with the rights of `user` alone: whatever a pid names by now, no other user's
// process is hit. Returns those that are gone when `end` comes, or as soon as all are.
[[nodiscard]] std::vector<unsigned> end_processes(unsigned user, const std::vector<unsigned>& pids,
                                                  Clock::time_point end);

}  // namespace muster::app
