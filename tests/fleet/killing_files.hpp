// SPDX-License-Identifier: Apache-2.0
// Makes SQLite end this process instead of doing its n-th write to a file.
#pragma once

namespace muster::fleet {

inline constexpr int kKilled = 9;  // the exit status

// Counts writes from 1, in all files that are opened afterwards.
void kill_at_write(int number);

}  // namespace muster::fleet
