// SPDX-License-Identifier: Apache-2.0
// Makes SQLite end this process in place of its n-th write to a file.
#pragma once

namespace muster::fleet {

inline constexpr int kKilled = 9;  // the exit status

// Counts from 1. All files that are opened afterwards count.
void kill_at_write(int number);

}  // namespace muster::fleet
