// SPDX-License-Identifier: Apache-2.0
// One system call of a program, of itself or of any process that it forks, fails or never returns:
// it is traced, and its calls are counted over all of its processes.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace muster::e2e {

// What may become of a call. The others are what it returns.
enum class CallFault { none, never_returns, eio, enomem, emfile, enospc, eintr };

inline constexpr std::string_view kCallFaultNames[] = {"none",   "never returns", "EIO",  "ENOMEM",
                                                       "EMFILE", "ENOSPC",        "EINTR"};

struct TracedRun {
  std::uint64_t calls = 0;  // that were counted
  std::string call;         // the one that was spoilt: "openat in muster:state"; else empty
  int status = -1;          // as shells count it
  std::vector<std::string> troubles;  // "it does not end", "a pipe is held by …"
  std::chrono::milliseconds took{};
};

// Runs a program with standard streams that are pipes, and spoils call number `at`, counted from 1
// and from where main() begins; programs that it executes are not counted. A call that cannot have
// this fault is left as it is. One that never returns cannot be killed either, until the program
// has ended; then it is, and must have been meant to be.
[[nodiscard]] TracedRun trace(const std::vector<std::string>& words,
                              const std::map<std::string, std::string>& variables, std::uint64_t at,
                              CallFault fault);

}  // namespace muster::e2e
