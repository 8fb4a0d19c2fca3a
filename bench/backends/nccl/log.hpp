// SPDX-License-Identifier: Apache-2.0
// NCCL's own log, kept in memory: NCCL reads where to write it once, from the environment, before
// its first call. The lines about transports are written while a communicator begins and when
// something is used for the first time; the lines of every single operation (TUNING) are asked for
// in an untimed pass of their own, so that a timed one logs nothing.
#pragma once

#include <string>

#include "lib/base/result.hpp"

namespace muster::bench {

// To be called before NCCL is. Where the user has set NCCL_DEBUG and NCCL_DEBUG_FILE, these stay,
// and there is no log here; without a file it is kept here all the same.
void keep_nccl_log();

// What became of the user's NCCL_DEBUG, as a sentence; empty where there is none.
[[nodiscard]] std::string nccl_log_remark();

// Writes to standard error what a user's NCCL_DEBUG without a file would have shown by now, less
// what was written before. From any thread, as the log itself.
void replay_nccl_log();

// From here on each operation is asked for, too, once NCCL has been told to read its settings
// again. False where no log is kept.
[[nodiscard]] bool log_nccl_operations();

// The end of that, likewise.
void log_no_nccl_operations();

// A variable of this process; empty where it is not set. Nothing sets any while NCCL is at work.
[[nodiscard]] std::string variable(const char* name);

// What NCCL wrote so far in this process; empty where no log is kept.
[[nodiscard]] std::string nccl_log();

}  // namespace muster::bench
