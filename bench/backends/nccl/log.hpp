// SPDX-License-Identifier: Apache-2.0
// NCCL's own log, kept in memory: NCCL reads where to write it once, from the environment, before
// its first call. The lines about transports are written while a communicator begins and when
// something is used for the first time; the lines of every single operation (TUNING) are not asked
// for, so that a timed pass logs nothing.
#pragma once

#include <string>

#include "lib/base/result.hpp"

namespace muster::bench {

// To be called before NCCL is. Where the user has set NCCL_DEBUG, his settings stay, and there is
// no log here. `operations` asks for TUNING, too: then the times of small operations mean nothing.
void keep_nccl_log(bool operations);

// What NCCL wrote so far in this process; empty where no log is kept.
[[nodiscard]] std::string nccl_log();

}  // namespace muster::bench
